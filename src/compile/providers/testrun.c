/* testrun: runs when BPF_PROG_TEST_RUN asks for it, on words that the caller gives: for tests. */
#include <linux/bpf.h>

#include "compile/providers/providers.h"

static int argument(unsigned n)
{
    return (int)(8 * n);
}

const struct provider provider_testrun = {
    .name = "testrun",
    .program_type = BPF_PROG_TYPE_RAW_TRACEPOINT,
    .rounds = USER_ROUNDS,
    .fields = FIELDS_OF_THREAD | FIELD(FUNC),
    .words = TEST_WORDS,
    .argument = argument,
};
