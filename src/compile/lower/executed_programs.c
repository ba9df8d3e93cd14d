/*
 * The programs that note what processes execute, and when they end, so that no stack is walked or named by an earlier
 * program's files (bpf/unwind.bpf.c).
 */
#include "compile/lower/lower.h"

static void add(struct compiler *compiler, const struct compile_options *options, const char *name, const char *section,
                const char *function)
{
    struct program *program = program_new(compiler, name, BPF_PROG_TYPE_RAW_TRACEPOINT, 0);
    program->position = compiler->walks;
    machine_call_library(program, function, NULL, 0);
    machine_exit(program, 0);
    if (pass_allocate_registers(program) == 0)
        pass_emit(program, compiler->result, options, section);
}

void executed_note(struct compiler *compiler, const struct compile_options *options)
{
    if (!compiler->walks)
        return;
    add(compiler, options, EXECUTED_PROGRAM, "handler/" EXECUTED_PROGRAM, "uplua_unwind_executes");
    add(compiler, options, EXECUTED_END_PROGRAM, "handler/" EXECUTED_END_PROGRAM, "uplua_unwind_exits");
}
