/*
 * Build tool: `stack_bytes LIBRARY` measures what the functions of the linked BPF library take of the stack, each with
 * those that it calls, and prints FUNCTION(name, bytes, frames) for each that handlers may call. The compiler leaves
 * them so much (src/compile/machine/stack_frame.c).
 *
 * The kernel's rule (kernel/bpf/verifier.c, check_max_stack_depth): each frame is rounded up, to 32 bytes until Linux
 * 6.7; one that is empty counts as one; all frames of a chain of calls, callbacks included, have 512 bytes together,
 * and there are 8 of them at most. How deep a frame is follows from the code: the lowest place below r10 that is named.
 * Code that the verifier finds dead can only make it less.
 */
#include <fcntl.h>
#include <linux/bpf.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "compile/object/library_graph.h"

enum {
    MOST_BYTES = 512, /* MAX_BPF_STACK */
    MOST_FRAMES = 8,  /* MAX_CALL_FRAMES … */
    OUTER_FRAMES =
        2, /* … of which are others': a handler, and what joins it to others (merge.c) or its loops' rounds */
    FRAME_UNIT = 32,
};

struct depth {
    unsigned bytes, frames; /* 0: not known yet */
    bool busy;
};

struct library {
    struct library_graph graph;
    size_t *called; /* by instruction: the symbol of the function that it calls, or gives a helper; 0: none */
    struct depth *depths;
};

static bool fail(const char *what, const char *name)
{
    fprintf(stderr, "stack_bytes: %s: %s\n", name, what);
    return false;
}

/* The bytes below r10 that the COUNT instructions CODE name. Addresses are made of a copy of r10, just behind it. */
static unsigned frame_bytes(const struct bpf_insn *code, size_t count)
{
    bool is_frame[16] = {[BPF_REG_10] = true};
    int lowest = 0;
    for (size_t i = 0; i < count; i++) {
        unsigned class = BPF_CLASS(code[i].code), to = code[i].dst_reg;
        int at = 0;
        if (class == BPF_LDX && code[i].src_reg == BPF_REG_10)
            at = code[i].off;
        if ((class == BPF_ST || class == BPF_STX) && to == BPF_REG_10)
            at = code[i].off;
        if (code[i].code == (BPF_ALU64 | BPF_ADD | BPF_K) && is_frame[to])
            at = code[i].imm;
        if (class == BPF_ALU64 || class == BPF_ALU || class == BPF_LDX || class == BPF_LD)
            is_frame[to] = code[i].code == (BPF_ALU64 | BPF_MOV | BPF_X) && code[i].src_reg == BPF_REG_10;
        lowest = at < lowest ? at : lowest;
        i += code[i].code == (BPF_LD | BPF_IMM | BPF_DW); /* which takes two */
    }
    return (unsigned)-lowest;
}

/* Finds what function INDEX takes, with what it calls. */
static bool measure(struct library *library, size_t index)
{
    struct depth *depth = &library->depths[index], deepest = {0};
    GElf_Sym symbol;
    if (depth->frames)
        return true;
    gelf_getsym(library->graph.symbols, (int)index, &symbol);
    const char *name = library_graph_name(&library->graph, &symbol);
    if (depth->busy)
        return fail("it calls itself", name);
    depth->busy = true;
    const struct bpf_insn *text = library->graph.text->d_buf;
    size_t first = symbol.st_value / sizeof *text, count = symbol.st_size / sizeof *text;
    for (size_t i = first; i < first + count; i++) {
        size_t called = library->called[i];
        if (text[i].code == (BPF_JMP | BPF_CALL) && text[i].src_reg == BPF_PSEUDO_CALL && !called)
            return fail("a call of a function that is not known", name);
        if (!called)
            continue;
        if (!measure(library, called))
            return false;
        const struct depth *other = &library->depths[called];
        deepest.bytes = other->bytes > deepest.bytes ? other->bytes : deepest.bytes;
        deepest.frames = other->frames > deepest.frames ? other->frames : deepest.frames;
    }
    unsigned bytes = frame_bytes(text + first, count);
    depth->bytes = deepest.bytes + ((bytes ? bytes : 1) + FRAME_UNIT - 1) / FRAME_UNIT * FRAME_UNIT;
    depth->frames = deepest.frames + 1;
    if (depth->frames + OUTER_FRAMES > MOST_FRAMES)
        return fail("its calls nest too deep for the kernel, which allows 8 frames, of which 2 are a handler's", name);
    /* each of the other frames has a unit at least */
    if (depth->bytes + OUTER_FRAMES * FRAME_UNIT > MOST_BYTES)
        return fail("it takes too much of the 512 bytes of stack, with what it calls: a handler has no room", name);
    return true;
}

static bool read_calls(struct library *library)
{
    library->called = calloc(library->graph.text->d_size / sizeof(struct bpf_insn) + 1, sizeof *library->called);
    library->depths = calloc(library->graph.symbol_count + 1, sizeof *library->depths);
    if (!library->called || !library->depths)
        return false;
    for (size_t i = 0; i < library->graph.relocation_count; i++) {
        uint64_t offset = 0;
        GElf_Sym symbol;
        size_t to = library_graph_reference(&library->graph, i, &offset);
        if (to && gelf_getsym(library->graph.symbols, (int)to, &symbol) && GELF_ST_TYPE(symbol.st_info) == STT_FUNC &&
            offset < library->graph.text->d_size)
            library->called[offset / sizeof(struct bpf_insn)] = to;
    }
    return true;
}

static bool print(struct library *library)
{
    GElf_Sym symbol;
    for (size_t i = 1; i < library->graph.symbol_count; i++) {
        if (!gelf_getsym(library->graph.symbols, (int)i, &symbol) || GELF_ST_TYPE(symbol.st_info) != STT_FUNC ||
            symbol.st_shndx != library->graph.text_index)
            continue;
        if (!measure(library, i))
            return false;
        if (GELF_ST_BIND(symbol.st_info) == STB_GLOBAL)
            printf("FUNCTION(%s, %u, %u)\n", library_graph_name(&library->graph, &symbol), library->depths[i].bytes,
                   library->depths[i].frames);
    }
    return true;
}

/* The bytes of the file PATH; NULL and *SIZE 0 where it cannot be read. */
static void *read_file(const char *path, size_t *size)
{
    struct stat status;
    int fd = open(path, O_RDONLY);
    void *bytes = fd >= 0 && !fstat(fd, &status) ? malloc((size_t)status.st_size + 1) : NULL;
    ssize_t length = bytes ? read(fd, bytes, (size_t)status.st_size) : -1;
    *size = length < 0 ? 0 : (size_t)length;
    if (fd >= 0)
        close(fd);
    return bytes;
}

int main(int count, char **arguments)
{
    if (count != 2) {
        fprintf(stderr, "usage: %s LIBRARY\n", arguments[0]);
        return 2;
    }
    size_t size;
    void *bytes = read_file(arguments[1], &size);
    struct library library = {0};
    bool good = bytes && !library_graph_open(&library.graph, bytes, size);
    if (!good)
        fail("no BPF object with code, maps and relocations", arguments[1]);
    else
        good = read_calls(&library) && print(&library);
    free(library.called);
    free(library.depths);
    library_graph_close(&library.graph);
    free(bytes);
    return good ? 0 : 1;
}
