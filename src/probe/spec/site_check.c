/* Finds out whether a program survives a probe at a place of its code. */
#include "probe/spec/site_check.h"

#include <errno.h>
#include <stdlib.h>

#include "unwind/cfa.h"
#include "unwind/rules.h"

enum {
    MAX_INSIDE = 1 << 24,     /* no function is larger; bounds what a boundary check reads */
    LONGEST_INSTRUCTION = 16, /* 15 on x86_64, 4 on aarch64 */
    AROUND = 128,             /* bytes before and behind an instruction that tell whether it may be interrupted */
};

bool site_decode(const struct binary *binary, uint64_t address, struct arch_instruction *instruction)
{
    uint8_t code[LONGEST_INSTRUCTION];
    uint64_t offset;
    return binary_offset(binary, address, &offset) == 0 &&
           arch_code()->decode(code, binary_read(binary, offset, code, sizeof code), instruction);
}

const char *site_harm(const struct arch_instruction *instruction, bool inside)
{
    if (instruction->mistaken)
        return instruction->mistaken;
    if (instruction->replaced && inside)
        return "since Linux 6.18 a probe turns a nop of five bytes into a call, which overwrites data of the function "
               "below its stack pointer";
    return NULL;
}

/* Bytes from ADDRESS to behind what the CPU has to run without an interruption, if ADDRESS is inside of that; 0: it is
 * not. */
static size_t uninterrupted_at(const struct binary *binary, uint64_t address)
{
    uint8_t code[2 * AROUND];
    uint64_t offset;
    size_t before = AROUND;
    while (binary_offset(binary, address - before, &offset) < 0) /* it is near the start of its segment */
        if ((before /= 2) == 0)
            return 0;
    return arch_code()->uninterrupted(code, binary_read(binary, offset, code, before + AROUND), before);
}

/* 0 if the kernel puts a probe on the instruction at ADDRESS, which is INSIDE bytes from the start of FUNCTION, and the
 * program survives it. */
static int check_instruction(const struct binary *binary, const char *text, const char *function, uint64_t address,
                             uint64_t inside, struct error *err)
{
    struct arch_instruction instruction;
    if (!site_decode(binary, address, &instruction)) /* where no code is, the caller or the kernel tells */
        return 0;
    const char *harm = site_harm(&instruction, inside > 0);
    size_t length = instruction.length, left = uninterrupted_at(binary, address);
    if (left) {
        harm = "interrupted there, its exclusive store would never succeed";
        length = left;
    }
    /* One at the entry may be one that the probe slides past; otherwise sites_leave_refused tells, or the attach. */
    bool may_slide = !inside && site_may_pass(&instruction);
    if (!harm && instruction.refused && !may_slide)
        return error_set(err, -EPERM,
                         "%s: the kernel puts no probe on the instruction at +%#llx of %s; the next one is at +%#llx",
                         text, (unsigned long long)inside, function, (unsigned long long)inside + length);
    if (!harm)
        return 0;
    return error_set(err, -EPERM,
                     "%s: a probe at +%#llx of %s would corrupt the program: %s; the next one is at +%#llx", text,
                     (unsigned long long)inside, function, harm, (unsigned long long)inside + length);
}

int site_refuse(const struct site *site, struct error *err)
{
    return error_set(
        err, -EPERM, "%s:%s: the kernel puts no probe on the instruction at +0 of %s%s%s; the next one is at +%#x",
        site->module, site->function, site->function, site->why ? ", " : "", site->why ? site->why : "", site->refused);
}

/* 0 if an instruction starts INSIDE bytes from the start of FUNCTION, which has SIZE bytes (0: that is not known). */
static int check_inside(const struct binary *binary, const char *text, const char *function, uint64_t address,
                        uint64_t inside, uint64_t size, struct error *err)
{
    uint64_t start;
    if (!inside)
        return 0;
    if (inside > MAX_INSIDE || (size && inside >= size))
        return error_set(err, -EINVAL, "%s: %s in %s has only %llu bytes", text, function, binary_module(binary)->name,
                         (unsigned long long)size);
    if (binary_offset(binary, address - inside, &start) < 0)
        return error_set(err, -EINVAL, "%s: outside of the code of %s", text, binary_module(binary)->name);
    size_t length = (size_t)inside + LONGEST_INSTRUCTION;
    if (size && length > size)
        length = (size_t)size;
    uint8_t *code = malloc(length);
    if (!code)
        return error_set(err, -ENOMEM, "out of memory");
    length = binary_read(binary, start, code, length);
    struct arch_instruction instruction;
    uint64_t at = 0;
    while (at < inside && arch_code()->decode(code + at, length - at, &instruction))
        at += instruction.length;
    free(code);
    if (at != inside || at >= length)
        return error_set(err, -EINVAL,
                         "%s: no instruction starts at +%#llx of %s; a probe inside of one would corrupt the program",
                         text, (unsigned long long)inside, function);
    return 0;
}

int site_check(const struct binary *binary, const char *text, const char *function, uint64_t address, uint64_t inside,
               uint64_t size, struct error *err)
{
    if (site_is_writable(binary, address))
        return error_set(err, -EPERM, "%s: " SITE_WRITABLE ", as %s is in %s", text, function,
                         binary_module(binary)->name);
    int result = check_inside(binary, text, function, address, inside, size, err);
    return result == 0 ? check_instruction(binary, text, function, address, inside, err) : result;
}

/* The rule at the first address of an FDE. */
struct first_rule {
    uint64_t address, rule;
};

static void note_rule(void *context, uint64_t address, uint64_t rule)
{
    struct first_rule *first = context;
    if (address == first->address)
        first->rule = rule;
}

/* True if what begins at ADDRESS is known to begin with a frame that is under way. */
static bool is_jumped_to(const struct binary *binary, uint64_t address)
{
    struct call_frames frames;
    struct error ignored;
    struct first_rule first = {.address = address, .rule = RULE_UNKNOWN};
    if (call_frames_read(&frames, binary_elf(binary), NULL, &ignored) < 0)
        return false;
    const struct arch_unwind *arch = frames.arch;
    int64_t pushed = arch->return_address_saved ? -8 : 0; /* by a call */
    uint64_t called = unwind_rule(RULE_REGISTER, arch->stack_pointer, -pushed, 0, pushed);
    for (size_t i = 0; i < frames.fde_count && frames.fdes[i].start <= address; i++) {
        const struct fde *fde = &frames.fdes[i];
        const struct cie *cie = &frames.cies[fde->cie];
        struct cfa_state initial;
        if (fde->start == address && cfa_start(cie, &initial))
            cfa_run(cie, fde, &initial, note_rule, &first);
    }
    call_frames_free(&frames);
    return first.rule != RULE_UNKNOWN && first.rule != called;
}

int site_check_entry(const struct binary *binary, const char *text, struct site *site, bool at_return,
                     struct error *err)
{
    site->jumped_to = is_jumped_to(binary, site->address);
    if (!site->jumped_to || !at_return)
        return 0;
    return error_set(err, -EINVAL,
                     "%s: a return probe there would crash the program: the code there is entered by a jump, not by a "
                     "call; use uprobe",
                     text);
}
