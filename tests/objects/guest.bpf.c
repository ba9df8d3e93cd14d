/* A BPF object that somebody else has written: programs of several kinds, maps and variables of many types
 * (tests/lua/guest_test.lua). */
#include <linux/bpf.h>
#include <linux/ptrace.h>
#include <stdbool.h>

#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include <bpf/usdt.bpf.h>

typedef __s64 distance;
enum color { RED = -2, GREEN, BLUE = 5 };

struct key {
    __u32 color_and_2;
    char letter;
    __s16 places[2];
};

struct value {
    distance sum;
    __u64 largest, count;
    unsigned low : 3;
    int high : 29;
    bool flag;
    enum color color;
    char comm[16], name[8];
    union {
        __u32 word;
        __u8 bytes[4];
    };
    struct {
        __s8 level;
        double ratio;
    } inner;
};

struct event {
    __u64 number;
    __s32 values[3];
    char text[12];
};

struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(max_entries, 64);
    __type(key, struct key);
    __type(value, struct value);
} values SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(max_entries, 4);
    __type(key, __u32);
    __type(value, __u64);
} counts SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
    __uint(max_entries, 1);
    __type(key, __u32);
    __type(value, struct event);
} scratch SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_PERCPU_HASH);
    __uint(max_entries, 16);
    __type(key, __s32);
    __type(value, __u64);
} by_cpu SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_LRU_HASH);
    __uint(max_entries, 512);
    __uint(key_size, 4);
    __uint(value_size, 3);
} untyped SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_RINGBUF);
    __uint(max_entries, 1 << 16);
    __type(value, struct event);
} events SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_RINGBUF);
    __uint(max_entries, 4096);
} words SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_STACK_TRACE);
    __uint(max_entries, 16);
    __uint(key_size, 4);
    __uint(value_size, 127 * 8);
} stacks SEC(".maps");

struct short_event {
    __u32 number;
};
const struct short_event *unused __attribute__((unused));

const volatile __s32 limit = 5;
const volatile char wanted[8] = "none";
const volatile bool enabled = false;
__u64 started = 23;
__s16 lows[4];
__u64 total;
__s32 last_pid;

char _license[] SEC("license") = "GPL";

static void add(void *map, __u32 key)
{
    __u64 *count = bpf_map_lookup_elem(map, &key);
    if (count)
        __sync_fetch_and_add(count, 1);
}

/* others(int64_t i64, uint64_t u64, bool flag, enum color color, port number, char letter) */
SEC("uprobe")
int on_others(struct pt_regs *ctx)
{
    struct key key;
    struct value *value, zero = {};
    if (!enabled)
        return 0;
    __builtin_memset(&key, 0, sizeof key); /* the byte between its fields is part of a key, too */
    key.color_and_2 = (__u32)(PT_REGS_PARM4(ctx) + 2);
    key.letter = 'x';
    key.places[0] = -3;
    key.places[1] = 3;
    __sync_fetch_and_add(&total, 1);
    bpf_map_update_elem(&values, &key, &zero, BPF_NOEXIST);
    value = bpf_map_lookup_elem(&values, &key);
    if (!value)
        return 0;
    __sync_fetch_and_add(&value->sum, (__s64)PT_REGS_PARM1(ctx));
    __sync_fetch_and_add(&value->count, 1);
    value->largest = ~0ULL;
    value->low = 5;
    value->high = -limit;
    value->flag = true;
    value->color = (enum color)PT_REGS_PARM4(ctx);
    value->word = 0x01020304;
    value->inner.level = -7;
    bpf_get_current_comm(value->comm, sizeof value->comm);
    for (int i = 0; i < 8; i++)
        value->name[i] = wanted[i];
    return 0;
}

/* twice(n) returns n */
SEC("uretprobe/./build/targets/typed:twice")
int on_twice(struct pt_regs *ctx)
{
    __s32 result = (__s32)PT_REGS_RC(ctx);
    __u64 one = 1, *count = bpf_map_lookup_elem(&by_cpu, &result);
    if (count)
        __sync_fetch_and_add(count, 1);
    else
        bpf_map_update_elem(&by_cpu, &result, &one, BPF_ANY);
    return 0;
}

/* told(int number, unsigned long size, char *text, size_t length) */
SEC("uprobe.s/./build/targets/typed:told")
int on_told(struct pt_regs *ctx)
{
    struct event *event = bpf_ringbuf_reserve(&events, sizeof *event, 0);
    __u32 number = (__u32)PT_REGS_PARM1(ctx);
    char bytes[3] = "abc";
    add(&counts, 0);
    if (!event)
        return 0;
    event->number = PT_REGS_PARM2(ctx);
    event->values[0] = (__s32)number;
    event->values[1] = -1;
    event->values[2] = limit;
    bpf_probe_read_user_str(event->text, sizeof event->text, (void *)PT_REGS_PARM3(ctx));
    bpf_ringbuf_submit(event, 0);
    bpf_ringbuf_output(&words, &number, number % 2 ? sizeof number : 2, 0);
    bpf_map_update_elem(&untyped, &number, bytes, BPF_ANY);
    last_pid = (__s32)(bpf_get_current_pid_tgid() >> 32);
    return 0;
}

SEC("usdt")
int on_mark(struct pt_regs *ctx)
{
    struct event *event = bpf_ringbuf_reserve(&events, sizeof *event, 0);
    long first = 0, second = 0;
    if (!event)
        return 0;
    bpf_usdt_arg(ctx, 0, &first);
    bpf_usdt_arg(ctx, 1, &second);
    event->number = (__u64)bpf_usdt_arg_cnt(ctx);
    event->values[0] = (__s32)first;
    event->values[1] = (__s32)second;
    event->values[2] = (__s32)bpf_usdt_cookie(ctx);
    event->text[0] = 0;
    bpf_ringbuf_submit(event, 0);
    return 0;
}

SEC("tp/sched/sched_process_exit")
int on_exit(void *ctx)
{
    add(&counts, 1);
    return 0;
}

SEC("raw_tp/sched_process_exit")
int on_raw_exit(void *ctx)
{
    add(&counts, 2);
    return 0;
}

SEC("perf_event")
int on_fault(void *ctx)
{
    add(&counts, 3);
    return 0;
}

SEC("kprobe/vfs_read")
int on_read(void *ctx)
{
    return 0;
}

SEC("xdp")
int on_packet(void *ctx)
{
    return 2;
}

SEC("uprobe/./build/targets/typed:told")
int refused(struct pt_regs *ctx)
{
    return *(volatile int *)(PT_REGS_PARM3(ctx));
}
