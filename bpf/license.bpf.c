/* Helpers that read user memory are given to programs under the GPL only. Once for all files of the library. */
#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>

char _license[] SEC("license") = "GPL";
