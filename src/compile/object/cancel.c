/* Ends the verifier's work when Ctrl-C is pressed. */
#include "compile/object/cancel.h"

#include <bpf/libbpf.h>
#include <errno.h>

#include "sys/interrupt.h"
#include "sys/mmap_events.h"

int cancel_check(struct error *err)
{
    return interrupt_signal(NULL) ? error_set(err, -EINTR, "interrupted: the probes were not attached") : 0;
}

static int between_programs(struct bpf_program *program, struct bpf_prog_load_opts *options, long cookie)
{
    (void)program;
    (void)options;
    (void)cookie;
    mmap_events_keep(); /* the verifier may take its time */
    return interrupt_signal(NULL) ? -EINTR : 0;
}

/* The programs' sections have names of ours, which libbpf leaves to the handler of all that it does not know. */
int cancel_begin(void)
{
    LIBBPF_OPTS(libbpf_prog_handler_opts, options, .prog_prepare_load_fn = between_programs);
    return libbpf_register_prog_handler(NULL, BPF_PROG_TYPE_UNSPEC, (enum bpf_attach_type)0, &options);
}

void cancel_end(int handler)
{
    if (handler >= 0)
        libbpf_unregister_prog_handler(handler);
}
