/*
 * The verifier looks at the functions of the library once more for each program that calls them; at the stack walk,
 * that takes as long as all else of a script. Programs that walk stacks and are attached in the same way are therefore
 * loaded as one, which calls the handler whose number is the attach cookie:
 *
 *     r6 = ctx; r0 = bpf_get_attach_cookie(ctx) & 0xffff; if (r0 == 1) return first(r6); if (r0 == 2) return
 * second(r6); … return 0
 *
 * A hit pays 5 ns for it, of 300 and more that a stack costs. Links have cookies since Linux 5.15, those of uprobes
 * too.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compile/object/object_parts.h"
#include "sys/cookie.h"

#define INSTRUCTION(op, d, s, o, i)                                                                                    \
    ((struct bpf_insn){.code = (op), .dst_reg = (d), .src_reg = (s), .off = (o), .imm = (i)})

enum {
    PROLOGUE = 3, /* instructions before the first handler is chosen */
    CHOICE = 4,   /* instructions for each handler */
    EPILOGUE = 2,
};

static bool calls(const struct object_program *program, const char *function)
{
    for (size_t i = 0; i < program->reference_count; i++)
        if (program->references[i].kind == REFERENCE_LIBRARY &&
            !strncmp(program->references[i].symbol, function, strlen(function)))
            return true;
    return false;
}

static bool can_join(const struct object_program *program, const char *function)
{
    return program->section && !program->alone && program->type == BPF_PROG_TYPE_KPROBE && calls(program, function);
}

static bool are_alike(const struct object_program *a, const struct object_program *b)
{
    return a->type == b->type && a->attach_type == b->attach_type && a->of_kernel == b->of_kernel;
}

/* Adds the program that calls the functions numbered MEMBERS. */
static int add_joint(struct object *object, const size_t *members, size_t count)
{
    const struct object_program *first = &object->programs[members[0]];
    char name[32], section[64];
    snprintf(name, sizeof name, "uplua_%shandlers_%u", first->of_kernel ? "kernel_" : "", first->attach_type);
    snprintf(section, sizeof section, "handler/%s", name);
    struct bpf_insn *code = calloc(PROLOGUE + CHOICE * count + EPILOGUE, sizeof *code), *at = code;
    struct object_reference *references = calloc(count, sizeof *references);
    struct object_line line = {.file = first->line_count ? first->lines[0].file : "", .text = ""};
    int status = code && references ? 0 : -ENOMEM;
    if (status)
        goto out;
    struct object_program joint = {
        .name = name,
        .section = section,
        .type = first->type,
        .attach_type = first->attach_type,
        .instructions = code,
        .references = references,
        .reference_count = count,
        .lines = &line,
        .line_count = 1,
    };
    *at++ = INSTRUCTION(BPF_ALU64 | BPF_MOV | BPF_X, BPF_REG_6, BPF_REG_1, 0, 0);
    *at++ = INSTRUCTION(BPF_JMP | BPF_CALL, 0, 0, 0, BPF_FUNC_get_attach_cookie);
    *at++ = INSTRUCTION(BPF_ALU64 | BPF_AND | BPF_K, BPF_REG_0, 0, 0, COOKIE_HANDLER_MASK);
    for (size_t i = 0; i < count; i++) {
        const struct object_program *member = &object->programs[members[i]];
        *at++ = INSTRUCTION(BPF_JMP | BPF_JNE | BPF_K, BPF_REG_0, 0, CHOICE - 1, (int32_t)member->cookie);
        *at++ = INSTRUCTION(BPF_ALU64 | BPF_MOV | BPF_X, BPF_REG_1, BPF_REG_6, 0, 0);
        references[i] = (struct object_reference){(uint32_t)(at - code), REFERENCE_CALL, member->name};
        *at++ = INSTRUCTION(BPF_JMP | BPF_CALL, 0, BPF_PSEUDO_CALL, 0, -1);
        *at++ = INSTRUCTION(BPF_JMP | BPF_EXIT, 0, 0, 0, 0);
        joint.flags |= member->flags;
    }
    *at++ = INSTRUCTION(BPF_ALU64 | BPF_MOV | BPF_K, BPF_REG_0, 0, 0, 0);
    *at++ = INSTRUCTION(BPF_JMP | BPF_EXIT, 0, 0, 0, 0);
    joint.instruction_count = (size_t)(at - code);
    status = object_add_program(object, &joint);
    for (size_t i = 0; i < count && !status; i++)
        object->programs[members[i]].joint = object->programs[object->program_count - 1].name;
out:
    free(code);
    free(references);
    return status;
}

int object_merge(struct object *object, const char *function)
{
    size_t programs = object->program_count, *members = calloc(programs + 1, sizeof *members);
    int status = members ? 0 : -ENOMEM;
    for (size_t i = 0; i < programs && !status; i++) {
        const struct object_program *first = &object->programs[i];
        size_t count = 0;
        if (!can_join(first, function))
            continue;
        for (size_t k = i; k < programs && count < COOKIE_HANDLER_MASK; k++)
            if (can_join(&object->programs[k], function) && are_alike(first, &object->programs[k]))
                members[count++] = k;
        if (count == 1)
            continue;
        for (size_t k = 0; k < count; k++) {
            object->programs[members[k]].section = NULL;
            object->programs[members[k]].cookie = k + 1;
        }
        status = add_joint(object, members, count);
    }
    free(members);
    return status;
}
