/* The reading side of the ring buffer, held against records that a BPF program emits, and maps read in batches. */
#include "map/ring.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <linux/bpf.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "map/map.h"
#include "map/var.h"
#include "tap.h"

#define RING_SIZE 4096
#define WORDS 4

static int ring_fd, program_fd, discard_fd;

static struct bpf_insn insn(uint8_t code, uint8_t dst, uint8_t src, int16_t off, int32_t imm)
{
    return (struct bpf_insn){.code = code, .dst_reg = dst & 15, .src_reg = src & 15, .off = off, .imm = imm};
}

/* bpf_ringbuf_output(ring, the first WORDS words of the context) */
static int load_emitter(void)
{
    struct bpf_insn code[32];
    size_t n = 0;
    code[n++] = insn(BPF_ALU64 | BPF_MOV | BPF_X, 6, 1, 0, 0);
    for (int16_t i = 0; i < WORDS; i++) {
        code[n++] = insn(BPF_LDX | BPF_MEM | BPF_DW, 2, 6, (int16_t)(8 * i), 0);
        code[n++] = insn(BPF_STX | BPF_MEM | BPF_DW, 10, 2, (int16_t)(-8 * (WORDS - i)), 0);
    }
    code[n++] = insn(BPF_LD | BPF_IMM | BPF_DW, 1, BPF_PSEUDO_MAP_FD, 0, ring_fd);
    code[n++] = insn(0, 0, 0, 0, 0);
    code[n++] = insn(BPF_ALU64 | BPF_MOV | BPF_X, 2, 10, 0, 0);
    code[n++] = insn(BPF_ALU64 | BPF_ADD | BPF_K, 2, 0, 0, -8 * WORDS);
    code[n++] = insn(BPF_ALU64 | BPF_MOV | BPF_K, 3, 0, 0, 8 * WORDS);
    code[n++] = insn(BPF_ALU64 | BPF_MOV | BPF_K, 4, 0, 0, 0);
    code[n++] = insn(BPF_JMP | BPF_CALL, 0, 0, 0, BPF_FUNC_ringbuf_output);
    code[n++] = insn(BPF_JMP | BPF_EXIT, 0, 0, 0, 0);
    return bpf_prog_load(BPF_PROG_TYPE_RAW_TRACEPOINT, "emit", "GPL", code, n, NULL);
}

/* Reserves 20 bytes, not a multiple of 8, and discards them. */
static int load_discarder(void)
{
    const struct bpf_insn code[] = {
        insn(BPF_LD | BPF_IMM | BPF_DW, 1, BPF_PSEUDO_MAP_FD, 0, ring_fd),
        insn(0, 0, 0, 0, 0),
        insn(BPF_ALU64 | BPF_MOV | BPF_K, 2, 0, 0, 20),
        insn(BPF_ALU64 | BPF_MOV | BPF_K, 3, 0, 0, 0),
        insn(BPF_JMP | BPF_CALL, 0, 0, 0, BPF_FUNC_ringbuf_reserve),
        insn(BPF_JMP | BPF_JEQ | BPF_K, 0, 0, 3, 0),
        insn(BPF_ALU64 | BPF_MOV | BPF_X, 1, 0, 0, 0),
        insn(BPF_ALU64 | BPF_MOV | BPF_K, 2, 0, 0, 0),
        insn(BPF_JMP | BPF_CALL, 0, 0, 0, BPF_FUNC_ringbuf_discard),
        insn(BPF_ALU64 | BPF_MOV | BPF_K, 0, 0, 0, 0),
        insn(BPF_JMP | BPF_EXIT, 0, 0, 0, 0),
    };
    return bpf_prog_load(BPF_PROG_TYPE_RAW_TRACEPOINT, "discard", "GPL", code, sizeof code / sizeof *code, NULL);
}

/* Runs PROGRAM on words that tell each other: n, n + 1, n * n, -n. Its return value, or -1000 where it cannot run. */
static int run(int program, uint64_t n)
{
    uint64_t context[12] = {n, n + 1, n * n, -n};
    LIBBPF_OPTS(bpf_test_run_opts, opts, .ctx_in = context, .ctx_size_in = sizeof context);
    return bpf_prog_test_run_opts(program, &opts) ? -1000 : (int)opts.retval;
}

/* Walks a batch as Lua does; returns the number of good records, each one greater than the last. */
static size_t walk(struct ring *ring, uint64_t *last, size_t *records)
{
    uint64_t begin, end;
    size_t good = 0;
    *records = ring_batch(ring, RING_SIZE, &begin, &end);
    for (uint64_t at = begin; at < end;) {
        const uint8_t *record = ring_data(ring) + (at & (RING_SIZE - 1));
        uint32_t length;
        memcpy(&length, record, sizeof length);
        if (!(length & BPF_RINGBUF_DISCARD_BIT)) {
            uint64_t word[WORDS], n = *last + 1;
            memcpy(word, record + 8, sizeof word);
            good += length == sizeof word && word[0] == n && word[1] == n + 1 && word[2] == n * n && word[3] == -n;
            *last = n;
        }
        length &= ~BPF_RINGBUF_DISCARD_BIT;
        at += (length + 15) & ~7u;
    }
    ring_release(ring, end);
    return good;
}

static void test_ring(void)
{
    errno = 0;
    ok(!ring_open(ring_fd, 4000) && errno == EINVAL, "a size that is no power of two is refused");
    ok(!ring_open(-1, RING_SIZE) && errno == EBADF, "so is a descriptor that is none");
    ring_close(NULL);
    struct ring *ring = ring_open(ring_fd, RING_SIZE);
    if (!ok(ring != NULL, "a ring opens"))
        return;
    uint64_t begin = 1, end = 2, sent = 0, last = 0;
    is_int((int64_t)ring_batch(ring, RING_SIZE, &begin, &end), 0, "a new ring is empty");
    ok(begin == end, "and its batch has no bytes");

    size_t good = 0, records = 0, all = 0;
    for (int round = 0; round < 101; round++) {
        for (int i = 0; i < 23; i++) {
            if (run(program_fd, sent + 1) == 0)
                sent++;
            if (i % 5 == 0)
                run(discard_fd, 0);
        }
        good += walk(ring, &last, &records);
        all += records;
    }
    is_int((int64_t)sent, 101 * 23, "every record found room");
    is_int((int64_t)good, 101 * 23, "each is read in order with its words, around the ring 23 times");
    is_int((int64_t)all, 101 * (23 + 5), "a batch counts discarded records too");

    uint64_t accepted = 0;
    while (run(program_fd, sent + 1) == 0) {
        sent++;
        accepted++;
    }
    ok(accepted > 0 && run(program_fd, 0) < 0, "a full ring refuses");
    is_int((int64_t)walk(ring, &last, &records), (int64_t)accepted, "what it took is there");
    is_int(run(program_fd, ++sent), 0, "and then it takes more");
    is_int((int64_t)walk(ring, &last, &records), 1, "which is read");
    ring_close(ring);
}

static void test_batches(void)
{
    enum { ENTRIES = 10007 };
    int fd = bpf_map_create(BPF_MAP_TYPE_HASH, "batches", 8, 24, ENTRIES, NULL);
    struct map map;
    is_int(map_open(&map, fd), 0, "a map opens");
    ok(map.key_size == 8 && map.value_size == 24 && map.max_entries == ENTRIES && map.cpus == 1, "with its sizes");
    struct map_entries entries;
    is_int(map_read_all(&map, false, &entries), 0, "an empty map is read");
    is_int((int64_t)entries.count, 0, "and has no entries");
    map_entries_free(&entries);

    uint64_t key, value[3] = {0};
    for (key = 1; key <= ENTRIES; key++) {
        value[0] = key * key;
        map_update(&map, &key, value);
    }
    is_int(map_update(&map, &key, value), -E2BIG, "a full map refuses");
    key = ENTRIES + 5;
    is_int(map_delete(&map, &key), -ENOENT, "what is not there cannot be deleted");
    is_int(map_lookup(&map, &key, value), -ENOENT, "nor read");
    key = 23;
    is_int(map_lookup(&map, &key, value), 0, "what is there can");
    is_int((int64_t)value[0], 529, "with its value");

    for (int take = 0; take < 2; take++) {
        is_int(map_read_all(&map, take, &entries), 0, take ? "a take" : "a read");
        uint64_t sum = 0, wrong = 0;
        for (uint64_t i = 0; i < entries.count; i++) {
            memcpy(&key, entries.keys + i * 8, 8);
            memcpy(value, entries.values + i * 24, 24);
            sum += key;
            wrong += value[0] != key * key;
        }
        is_int((int64_t)entries.count, ENTRIES, "has every entry");
        is_int((int64_t)sum, (int64_t)ENTRIES * (ENTRIES + 1) / 2, "once");
        is_int((int64_t)wrong, 0, "with its value");
        map_entries_free(&entries);
    }
    is_int(map_read_all(&map, false, &entries), 0, "a read after the take");
    is_int((int64_t)entries.count, 0, "finds nothing");
    map_entries_free(&entries);
    close(fd);
    is_int(map_read_all(&map, false, &entries), -EBADF, "a closed map cannot be read");
    ok(!entries.keys && !entries.values, "and holds no memory");
}

static void test_arrays(void)
{
    struct map map;
    struct map_entries entries;
    uint32_t index = 22;
    int fd = bpf_map_create(BPF_MAP_TYPE_PERCPU_ARRAY, "percpu", 4, 12, 23, NULL);
    is_int(map_open(&map, fd), 0, "a per-CPU array opens");
    is_int(map.value_stride, 16, "copies of 12 bytes are 16 apart");
    size_t size = (size_t)map.cpus * map.value_stride;
    uint8_t *value = calloc(1, size);
    if (!ok(value != NULL, "memory"))
        return;
    value[size - 16] = 101;
    map_update(&map, &index, value);
    is_int(map_read_all(&map, false, &entries), 0, "it is read whole");
    is_int((int64_t)entries.count, 23, "all of its entries");
    is_int(entries.values[23 * size - 16], 101, "the last CPU's copy of the last entry");
    map_entries_free(&entries);
    is_int(map_read_all(&map, true, &entries), -EOPNOTSUPP, "an array cannot be taken");
    free(value);
    close(fd);

    LIBBPF_OPTS(bpf_map_create_opts, opts, .map_flags = BPF_F_MMAPABLE);
    fd = bpf_map_create(BPF_MAP_TYPE_ARRAY, "var", 4, 8, 1, &opts);
    map_open(&map, fd);
    void *word = map_var_open(&map);
    if (!ok(word != NULL, "a var opens"))
        return;
    map_var_set(word, 23, 8);
    map_var_add(word, (uint64_t)-101, 8);
    int64_t seen = 0;
    index = 0;
    map_lookup(&map, &index, &seen);
    is_int(seen, -78, "the kernel sees what is set and added to");
    is_int((int64_t)map_var_get(word, 8), -78, "and so do we");
    static const struct {
        unsigned size;
        int64_t after;
    } narrow[] = {
        {4, 0x11111111ffffffff},
        {2, 0x111111111111ffff},
        {1, 0x11111111111111ff},
    };
    for (size_t i = 0; i < sizeof narrow / sizeof *narrow; i++) {
        map_var_set(word, 0x1111111111111111, 8);
        map_var_set(word, 5, narrow[i].size);
        map_var_add(word, (uint64_t)-6, narrow[i].size);
        map_lookup(&map, &index, &seen);
        is_int(seen, narrow[i].after, "a narrower one touches its own bytes");
    }
    close(fd);
    fd = bpf_map_create(BPF_MAP_TYPE_ARRAY, "plain", 4, 8, 1, NULL);
    map_open(&map, fd);
    ok(!map_var_open(&map), "an array that cannot be mapped is no var");
    close(fd);
}

int main(void)
{
    ring_fd = bpf_map_create(BPF_MAP_TYPE_RINGBUF, "ring", 0, 0, RING_SIZE, NULL);
    program_fd = load_emitter();
    discard_fd = load_discarder();
    if (!ok(ring_fd >= 0 && program_fd >= 0 && discard_fd >= 0, "BPF can be used"))
        return done_testing();
    test_ring();
    test_batches();
    test_arrays();
    return done_testing();
}
