/* Reads a structure of the kernel's by CO-RE (tests/lua/guest_test.lua). */
#include <linux/bpf.h>
#include <linux/ptrace.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

struct task_struct {
    int tgid, no_such_field;
} __attribute__((preserve_access_index));

int tgid, there;
char _license[] SEC("license") = "GPL";

SEC("uprobe/./build/targets/typed:told")
int read_task(void *ctx)
{
    struct task_struct *task = (void *)bpf_get_current_task();
    tgid = BPF_CORE_READ(task, tgid);
    there = bpf_core_field_exists(task->no_such_field) ? 1 : 2;
    return 0;
}

SEC("uprobe/./build/targets/typed:told")
int read_nothing(void *ctx)
{
    struct task_struct *task = (void *)bpf_get_current_task();
    tgid = BPF_CORE_READ(task, no_such_field);
    return 0;
}
