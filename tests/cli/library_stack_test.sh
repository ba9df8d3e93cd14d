# build/bpf/stack_bytes, which measures what the library's functions take of the stack: on functions whose frames are known.
. tests/cli/tap.sh

if ! command -v clang >/dev/null; then
    skip 'needs package clang'
    done_testing
    exit
fi

# measure CODE: what the tool says of functions; each puts BYTES on its stack with FRAME(bytes).
measure() {
    cat >"$D/library.bpf.c" <<'C'
typedef unsigned int u32;
struct {
    int (*type)[2];
    u32 *key;
} some_map __attribute__((section(".maps"), used));
static void *(*lookup)(void *, const void *) = (void *)1;
static long (*loop)(u32, void *, void *, unsigned long) = (void *)181;
#define FRAME(bytes) char frame[bytes]; lookup(&some_map, frame)
#define FUNCTION __attribute__((noinline)) long
C
    echo "$1" >>"$D/library.bpf.c"
    clang -O2 -g -target bpf -mcpu=v3 -c -o "$D/library.bpf.o" "$D/library.bpf.c" || return
    run build/bpf/stack_bytes "$D/library.bpf.o"
}

measure 'FUNCTION nothing(long x) { return x; }
FUNCTION words(long x) { FRAME(32); return x; }
FUNCTION more(long x) { FRAME(33); return words(x) + 1; }
static long round(u32 i, void *context) { FRAME(96); return i; }
FUNCTION rounds(long x) { FRAME(8); return loop(8, round, 0, 0) + more(x); }'
is "$out" 'FUNCTION(nothing, 32, 1)
FUNCTION(words, 32, 1)
FUNCTION(more, 96, 2)
FUNCTION(rounds, 128, 3)' 'frames are rounded up, and the deepest chain of calls and callbacks counts'

measure 'FUNCTION inner(long x) { FRAME(256); return x; }
FUNCTION outer(long x) { FRAME(200); return inner(x) + 1; }'
is "$status" 1 'a chain that leaves a handler no room is an error'
like "$err" 'stack_bytes: outer: it takes too much of the 512 bytes*' '… that names the function'

measure 'FUNCTION a(long x) { FRAME(8); return x; }
FUNCTION b(long x) { FRAME(8); return a(x) + 1; }
FUNCTION c(long x) { FRAME(8); return b(x) + 1; }
FUNCTION d(long x) { FRAME(8); return c(x) + 1; }
FUNCTION e(long x) { FRAME(8); return d(x) + 1; }
FUNCTION f(long x) { FRAME(8); return e(x) + 1; }
FUNCTION g(long x) { FRAME(8); return f(x) + 1; }'
is "$status" 1 'so is one of more calls than the kernel allows'
like "$err" 'stack_bytes: g: its calls nest too deep*' '… that names the function, too'

done_testing
