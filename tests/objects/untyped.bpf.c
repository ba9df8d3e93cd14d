/* Compiled without -g, so that it has no BTF (tests/lua/guest_test.lua). */
#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>

long hits;
char _license[] SEC("license") = "GPL";

SEC("uprobe/./build/targets/typed:told")
int count(void *ctx)
{
    __sync_fetch_and_add(&hits, 1);
    return 0;
}
