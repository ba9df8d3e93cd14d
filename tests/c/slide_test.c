/* Where the probe of a function's entry goes: by hand-assembled functions of both CPUs, on either. */
#include "probe/spec/slide.h"

#include <stdlib.h>

#include "tap.h"

static const struct arch_code *const x86 = &arch_code_x86_64, *const arm = &arch_code_aarch64;

struct example {
    const char *name;
    const struct arch_code *const *arch;
    const char *code;  /* hexadecimal; what stands before '|' and behind a second one belongs to others */
    unsigned distance; /* expected */
    unsigned lossy;    /* expected with slide = "lossy" */
    const char *why;   /* a word of what is told without "lossy"; NULL: nothing */
    uint64_t limit;    /* 0: none */
};

static const struct example examples[] = {
    /* what is emulated itself */
    {"push rbx; ret", &x86, "53 c3", 0, 0, NULL, 0},
    {"push r12; ret", &x86, "41 54 c3", 0, 0, NULL, 0},
    {"nop; ret", &x86, "90 c3", 0, 0, NULL, 0},
    {"jmp; int3", &x86, "e9 00 01 00 00 cc", 0, 0, NULL, 0},
    {"call; ret", &x86, "e8 00 01 00 00 c3", 0, 0, NULL, 0},
    {"bnd jmp; int3", &x86, "f2 e9 00 01 00 00 cc", 0, 0, NULL, 0},
    {"je far; ret", &x86, "0f 84 00 01 00 00 c3", 0, 0, NULL, 0},

    /* what is passed */
    {"endbr64; push rbx", &x86, "f3 0f 1e fa 53 5b c3", 4, 4, "would be stepped", 0},
    {"endbr64; push r15", &x86, "f3 0f 1e fa 41 57 5b c3", 4, 4, "would be stepped", 0},
    {"endbr64; jmp", &x86, "f3 0f 1e fa e9 00 10 00 00", 4, 4, "would be stepped", 0},
    {"endbr64; call", &x86, "f3 0f 1e fa e8 00 10 00 00 c3", 4, 4, "would be stepped", 0},
    {"test rdi, rdi; je; push rbx", &x86, "48 85 ff 74 04 53 31 c0 5b c3", 3, 5, "would be stepped", 0},
    {"cmp esi, 5; jne far; nop", &x86, "83 fe 05 0f 85 00 01 00 00 90 c3", 3, 9, "would be stepped", 0},
    {"xor eax, eax; push rbp", &x86, "31 c0 55 5d c3", 2, 2, "would be stepped", 0},
    {"mov r10, rcx; push rbp", &x86, "49 89 ca 55 5d c3", 3, 3, "would be stepped", 0},
    {"lea rax, [rdi+rsi*4]; jmp", &x86, "48 8d 04 b7 eb 00 c3", 4, 4, "would be stepped", 0},
    {"mov rax, fs:[0x28]; push rbx", &x86, "64 48 8b 04 25 28 00 00 00 53 5b c3", 9, 9, "would be stepped", 0},
    {"mov rax, [rip+x]; push rbx", &x86, "48 8b 05 00 01 00 00 53 5b c3", 7, 7, "would be stepped", 0},
    {"cmp qword [rip+x], 0; je", &x86, "48 83 3d 00 01 00 00 00 74 01 c3 c3", 8, 8, "would be stepped", 0},
    {"mov rax, [rsp+8]; push rbx", &x86, "48 8b 44 24 08 53 5b c3", 5, 5, "would be stepped", 0},
    {"nop of 5 bytes; push rbx", &x86, "0f 1f 44 00 00 53 5b c3", 5, 5, "would be stepped", 0},
    {"nop of 2 bytes; push rbx", &x86, "66 90 53 5b c3", 2, 2, "would be stepped", 0},
    {"pxor xmm0, xmm0; push rbx", &x86, "66 0f ef c0 53 5b c3", 4, 4, "would be stepped", 0},

    /* what is not */
    {"push with a prefix that the kernel does not know", &x86, "48 53 5b c3", 0, 0, "at ten times the price", 0},
    {"pause is no nop", &x86, "f3 90 53 5b c3", 0, 0, "no cheaper place", 0},
    {"mov [rip+x], rdi: of no data", &x86, "48 89 3d 00 01 00 20 53 5b c3", 0, 0, "no cheaper place", 0},
    {"mov [rip+x], rdi: of code", &x86, "48 89 3d 00 01 00 00 53 5b c3", 0, 0, "no cheaper place", 0},
    {"mov rax, [rdi]: it may fault", &x86, "48 8b 07 53 5b c3", 0, 0, "no cheaper place", 0},
    {"cmp byte [rdi], 0: it may fault", &x86, "80 3f 00 74 01 c3 c3", 0, 0, "no cheaper place", 0},
    {"cpuid", &x86, "0f a2 53 5b c3", 0, 0, "no cheaper place", 0},
    {"div cl: it may trap", &x86, "f6 f1 53 5b c3", 0, 0, "no cheaper place", 0},
    {"syscall", &x86, "0f 05 53 5b c3", 0, 0, "no cheaper place", 0},
    {"xchg [rip+x], rdi, which locks", &x86, "48 87 3d 00 01 00 20 53 5b c3", 0, 0, "no cheaper place", 0},
    {"endbr64; cmpxchg [rip+x], r10 with lock", &x86, "f3 0f 1e fa f0 4c 0f b1 15 00 01 00 00 53 5b c3", 0, 0,
     "no cheaper place", 0},
    {"ret ends it", &x86, "31 c0 c3 53 5b c3", 0, 0, "no cheaper place", 0},
    {"its code ends before", &x86, "f3 0f 1e fa | | 53 5b c3", 0, 0, "cannot be decoded", 0},
    {"no instruction", &x86, "31 c0 06 53 5b c3", 0, 0, "cannot be decoded", 0},
    {"its length is not known", &x86, "| | f3 0f 1e fa 53 5b c3", 0, 0, "length", 0},
    {"its length is not known, and no matter", &x86, "| | 53 5b c3", 0, 0, NULL, 0},

    /* what leads there */
    {"xor eax, eax; 1: push rbx; pop; dec edi; jne 1b", &x86, "31 c0 53 5b ff cf 75 fa c3", 0, 0, "other code", 0},
    {"1: xor eax, eax; push rbx; pop; dec edi; jne 1b", &x86, "31 c0 53 5b ff cf 75 f8 c3", 2, 2, "would be stepped",
     0},
    {"xor eax, eax; 1: test edi, edi; je; jmp 1b", &x86, "31 c0 85 ff 74 02 eb fa c3", 0, 0, "other code", 0},
    {"a jump of the function before it", &x86, "eb 02 | 31 c0 53 5b c3", 0, 0, "other code", 0},
    {"one to its entry", &x86, "eb 00 | 31 c0 53 5b c3", 2, 2, "would be stepped", 0},
    {"a jump of the function behind it", &x86, "| 31 c0 53 5b c3 | eb f9", 2, 2, "would be stepped", 0},
    {"one that hits", &x86, "| 31 c0 53 5b c3 | eb fb", 0, 0, "other code", 0},
    {"a far jump behind it", &x86, "| 31 c0 53 5b c3 | e9 f8 ff ff ff", 0, 0, "other code", 0},
    {"one that misses", &x86, "| 31 c0 53 5b c3 | e9 f9 ff ff ff", 2, 2, "would be stepped", 0},
    {"a far conditional jump behind it", &x86, "| 31 c0 53 5b c3 | 0f 84 f7 ff ff ff", 0, 0, "other code", 0},
    {"a far jump of its own", &x86, "31 c0 53 5b e9 f9 ff ff ff", 0, 0, "other code", 0},
    {"a loop of its own", &x86, "31 c0 53 5b e2 fc c3", 0, 0, "other code", 0},
    {"the address of it, as lea has it", &x86, "31 c0 53 48 8d 05 f8 ff ff ff 5b c3", 0, 0, "other code", 0},
    {"that of the next instruction", &x86, "31 c0 53 48 8d 05 f9 ff ff ff 5b c3", 2, 2, "would be stepped", 0},
    {"the address of it, as mov has it", &x86, "31 c0 53 b8 02 10 00 00 5b c3", 0, 0, "other code", 0},
    {"and that of the next", &x86, "31 c0 53 b8 03 10 00 00 5b c3", 2, 2, "would be stepped", 0},
    {"lea in the function before it", &x86, "48 8d 05 02 00 00 00 | 31 c0 53 5b c3", 0, 0, "other code", 0},
    {"a distance in the middle of an instruction", &x86, "31 c0 53 b8 eb fa 00 00 5b c3", 2, 2, "would be stepped", 0},
    {"a jump by a register that seems to be one", &x86, "31 c0 53 b8 ff e0 00 00 5b c3", 2, 2, "would be stepped", 0},
    {"a symbol on the way", &x86, "f3 0f 1e fa 53 5b c3", 0, 0, "other code", 3},
    {"a symbol there", &x86, "f3 0f 1e fa 53 5b c3", 0, 0, "other code", 4},
    {"a symbol behind", &x86, "f3 0f 1e fa 53 5b c3", 4, 4, "would be stepped", 5},
    {"a symbol behind what is exact", &x86, "48 85 ff 74 04 53 31 c0 5b c3", 3, 3, "would be stepped", 5},
    {"cmp edi, 5; ja; jmp by a table of addresses, which the file's data tells", &x86,
     "83 ff 05 77 07 ff 24 fd 00 00 00 00 c3", 3, 3, "would be stepped", 0},
    {"lea rdx, [rip+t]; movsxd rax, [rdx+rdi*4]; add rax, rdx; jmp rax: a table of distances", &x86,
     "83 ff 05 77 11 48 8d 15 00 10 01 00 48 63 04 ba 48 01 d0 3e ff e0 c3", 3, 3, "would be stepped", 0},
    {"the same by mov eax, [rdx+rdi*4]; cdqe; add rdx, rax", &x86,
     "83 ff 05 77 11 48 8d 15 00 10 01 00 8b 04 ba 48 98 48 01 c2 ff e2 c3", 3, 3, "would be stepped", 0},
    {"mov rcx, [rsp+8]; movsxd rax, [rcx+rdi*4]; add rax, rcx; jmp rax: its address is kept", &x86,
     "83 ff 05 77 0e 48 8b 4c 24 08 48 63 04 b9 48 01 c8 ff e0 c3", 3, 3, "would be stepped", 0},
    {"distances from elsewhere: lea rcx, [rip+u]; add rax, rcx", &x86,
     "83 ff 05 77 17 48 8d 15 00 10 01 00 48 63 04 ba 48 8d 0d 00 10 02 00 48 01 c8 ff e0 c3", 3, 3, "would be stepped",
     0},
    {"distances from nobody knows where: add rax, rsi", &x86,
     "83 ff 05 77 10 48 8d 15 00 10 01 00 48 63 04 ba 48 01 f0 ff e0 c3", 0, 0, "not understood", 0},
    {"and another base: add rdx, 8", &x86,
     "83 ff 05 77 14 48 8d 15 00 10 01 00 48 63 04 ba 48 83 c2 08 48 01 d0 ff e0 c3", 0, 0, "not understood", 0},
    {"a table that is understood, and lea rdx, [rdi+rsi]; jmp rdx", &x86,
     "83 ff 05 77 16 48 8d 15 00 10 01 00 48 63 04 ba 48 01 d0 ff e0 48 8d 14 37 ff e2 c3", 0, 0, "not understood", 0},
    {"lea rdx, [rdi+rsi]; mov rax, rdx; jmp rax", &x86, "83 ff 05 77 09 48 8d 14 37 48 89 d0 ff e0 c3", 0, 0,
     "not understood", 0},
    {"mov rax, [rdi+8]; jmp rax: a call of another", &x86, "83 ff 05 77 06 48 8b 47 08 ff e0 c3", 3, 3,
     "would be stepped", 0},
    {"jmp rsi: a call of a parameter", &x86, "83 ff 05 77 02 ff e6 c3", 3, 3, "would be stepped", 0},
    {"1: jmp rax, where others come to with what they have computed", &x86,
     "83 ff 05 74 06 48 8b 47 08 eb 03 48 01 f0 ff e0 c3", 0, 0, "not understood", 0},
    {"mov rax, [rsp+8]; jmp rax: it may have been computed", &x86, "83 ff 05 77 07 48 8b 44 24 08 ff e0 c3", 0, 0,
     "not understood", 0},
    {"endbr64; push rbx; add rax, rdi; jmp rax", &x86, "f3 0f 1e fa 53 48 01 f8 3e ff e0 c3", 0, 0, "not understood",
     0},

    /* behind a locked instruction, where the kernel puts no probe */
    {"lock add [rdi], 1; ret", &x86, "f0 83 07 01 c3", 4, 4, "puts no probe", 0},
    {"lock inc [rdi+8]; xor eax, eax; push rbx: further on", &x86, "f0 ff 47 08 31 c0 53 5b c3", 6, 6, "puts no probe",
     0},
    {"lock inc [rdi]; mov rax, [rsi]; push: right behind", &x86, "f0 ff 07 48 8b 06 53 5b c3", 3, 3, "puts no probe",
     0},
    {"lock inc [rdi]; jmp rsi", &x86, "f0 ff 07 ff e6", 3, 3, "puts no probe", 0},
    {"lock inc [rdi]; rep stosb: goes round", &x86, "f0 ff 07 f3 aa c3", 0, 0, "no place that sees each call", 0},
    {"lock inc [rdi]; lock dec [rsi]: behind both", &x86, "f0 ff 07 f0 ff 0e c3", 6, 6, "puts no probe", 0},
    {"vmovdqu xmm0, [rsi]; vmovdqu [rdi], xmm0, which the kernel takes for a jump; ret", &x86,
     "c5 fa 6f 06 c5 fa 7f 07 c3", 8, 8, "puts no probe", 0},
    {"vmovd xmm0, esi; mov rax, rdi; push rbx: further on", &x86, "c5 f9 6e c6 48 89 f8 53 5b c3", 7, 7,
     "puts no probe", 0},
    {"vmovd xmm0, esi, and nothing", &x86, "c5 f9 6e c6 | | c3", 0, 0, "no place that sees each call", 0},
    {"vmovq [rsp-16], xmm2: the stack", &x86, "c5 f9 d6 54 24 f0 c3", 0, 0, "no place that sees each call", 0},
    {"vaddps, on which the kernel puts a probe", &x86, "c5 f0 58 c2 48 89 f8 53 5b c3", 0, 0, "no cheaper place", 0},
    {"cs nopw; push", &x86, "66 2e 0f 1f 84 00 00 00 00 00 53 5b c3", 10, 10, "puts no probe", 0},
    {"notrack jmp rdx", &x86, "3e ff e2 c3", 0, 0, "stepped", 0},
    {"lock inc [rdi]; a nop of 5 bytes", &x86, "f0 ff 07 0f 1f 44 00 00 c3", 0, 0, "no place that sees each call", 0},
    {"lock inc [rdi]; syscall", &x86, "f0 ff 07 0f 05 c3", 0, 0, "no place that sees each call", 0},
    {"lock inc [rsp]: the return address", &x86, "f0 ff 04 24 c3", 0, 0, "no place that sees each call", 0},
    {"lock inc [rdi]; jne, which others lead to", &x86, "f0 ff 07 75 fb c3", 0, 0, "no place that sees each call", 3},
    {"lock inc [rdi]; xor eax, eax; jne, which others lead to: right behind", &x86, "f0 ff 07 31 c0 75 f9 c3", 3, 3,
     "puts no probe", 5},
    {"lock inc [rdi]; xor eax, eax; 1: dec esi; jne 1b: right behind", &x86, "f0 ff 07 31 c0 ff ce 75 fc c3", 3, 3,
     "puts no probe", 0},
    {"lock inc [rdi]; 1: dec esi; jne 1b", &x86, "f0 ff 07 ff ce 75 fc c3", 0, 0, "no place that sees each call", 0},
    {"lock inc [rdi], and nothing", &x86, "f0 ff 07 | | c3", 0, 0, "no place that sees each call", 0},
    {"cmp edi, 5; ja; jmp by a slot", &x86, "83 ff 05 77 06 ff 25 00 01 00 00 c3", 3, 3, "would be stepped", 0},

    /* conditional jumps */
    {"je; push rbx", &x86, "74 03 53 5b c3 c3", 0, 2, NULL, 0},
    {"test; je; test; je; mov: the last jump", &x86, "48 85 ff 74 0a 48 85 f6 74 05 48 8b 07 53 5b c3", 3, 8,
     "would be stepped", 0},
    {"test; je; call", &x86, "48 85 ff 74 05 e8 00 10 00 00 c3", 3, 5, "would be stepped", 0},

    {"bti c; b", &arm, "5f 24 03 d5 10 00 00 14", 4, 4, "would be stepped", 0},
    {"b", &arm, "10 00 00 14", 0, 0, NULL, 0},
    {"cbz x0", &arm, "40 00 00 b4 c0 03 5f d6 c0 03 5f d6", 0, 8 - 4, NULL, 0},
    {"adrp x1", &arm, "01 00 00 b0 c0 03 5f d6", 0, 0, NULL, 0},
    {"ldr x0, literal", &arm, "40 00 00 58 c0 03 5f d6", 0, 0, "no cheaper place", 0},
    {"bti c; ldr x0, literal, on which the kernel puts no probe", &arm, "5f 24 03 d5 40 00 00 58 c0 03 5f d6", 0, 0,
     "no cheaper place", 0},
    {"ret", &arm, "c0 03 5f d6", 0, 0, NULL, 0},
    {"br x1", &arm, "20 00 1f d6", 0, 0, NULL, 0},
    {"cmp x0, 0; blr x1", &arm, "1f 00 00 f1 20 00 3f d6 c0 03 5f d6", 4, 4, "would be stepped", 0},
    {"bti c; retaa, which is not simulated", &arm, "5f 24 03 d5 ff 0b 5f d6", 0, 0, "no cheaper place", 0},
    {"bti c; ldr d0, literal", &arm, "5f 24 03 d5 40 00 00 5c c0 03 5f d6", 0, 0, "no cheaper place", 0},
    {"cmp x0, 0; b.eq; ret", &arm, "1f 00 00 f1 40 00 00 54 c0 03 5f d6 c0 03 5f d6", 4, 8, "would be stepped", 0},
    {"cmp x1, x0; b.eq; ret", &arm, "3f 00 00 eb 40 00 00 54 c0 03 5f d6 c0 03 5f d6", 4, 8, "would be stepped", 0},
    {"tst w0, 1; b.ne", &arm, "1f 00 00 72 41 00 00 54 c0 03 5f d6 c0 03 5f d6", 4, 8, "would be stepped", 0},
    {"bti c; nop; tbz", &arm, "5f 24 03 d5 1f 20 03 d5 40 00 00 36 c0 03 5f d6 c0 03 5f d6", 8, 12, "would be stepped",
     0},
    {"subs x1, x1, 1", &arm, "21 04 00 f1 10 00 00 54", 0, 0, "no cheaper place", 0},
    {"cmp; 1: b.eq; b 1b", &arm, "1f 00 00 f1 40 00 00 54 ff ff ff 17 c0 03 5f d6", 0, 0, "other code", 0},
    {"cmp; b.hi; br x1: a call of another", &arm, "1f 14 00 f1 48 00 00 54 20 00 1f d6 c0 03 5f d6", 4, 8,
     "would be stepped", 0},
    {"cmp; b.hi; ldr x1, [x2, x3, lsl 3]; br x1: by a table of addresses", &arm,
     "1f 14 00 f1 68 00 00 54 41 78 63 f8 20 00 1f d6 c0 03 5f d6", 4, 4, "would be stepped", 0},
    {"cmp; b.hi; ldrb w1, [x2, w3, uxtw]; adr x4, 8; add x1, x4, w1, sxtb 2; br x1: one of distances", &arm,
     "1f 14 00 f1 c8 00 00 54 41 48 63 38 44 00 00 10 81 88 21 8b 20 00 1f d6 c0 03 5f d6", 0, 0, "not understood", 0},
    {"cmp; b.hi; ldr x1, [x0], 8; br x1", &arm, "1f 14 00 f1 68 00 00 54 01 84 40 f8 20 00 1f d6 c0 03 5f d6", 4, 4,
     "would be stepped", 0},
    {"cmp; b.hi; add x1, x1, x0; br x1", &arm, "1f 14 00 f1 68 00 00 54 21 00 00 8b 20 00 1f d6 c0 03 5f d6", 0, 0,
     "not understood", 0},
};

/* Where the registers of the entry are behind instructions: what is not mentioned is where it was. */
static const struct {
    const char *name;
    const struct arch_code *const *arch;
    const char *code;   /* then comes a push, or b */
    const char *values; /* "rdi=rbx", "rsp=rsp+8", "rsi=[rsp+16]", "rdx!": gone; NULL: it is not passed */
    bool wrote;
} ways[] = {
    {"mov rdi, rsi", &x86, "48 89 f7", "rdi!", false},
    {"mov rbx, rdi; mov rdi, rsi", &x86, "48 89 fb 48 89 f7", "rbx! rdi=rbx", false},
    {"mov rbx, rdi", &x86, "48 89 fb", "rbx!", false},
    {"mov ebx, edi; mov rdi, rsi: half of it", &x86, "89 fb 48 89 f7", "rbx! rdi!", false},
    {"mov edx, 1: half an argument", &x86, "ba 01 00 00 00", "rdx!", false},
    {"mov cl, 1: a byte of one", &x86, "b1 01", "rcx!", false},
    {"mov r9d, 1", &x86, "41 b9 01 00 00 00", "r9!", false},
    {"xchg rax, rdi", &x86, "48 97", "rax! rdi!", false},
    {"add rdi, 8", &x86, "48 83 c7 08", "rdi=rdi-8", false},
    {"sub rdi, 8", &x86, "48 83 ef 08", "rdi=rdi+8", false},
    {"add edi, 8: no more all of it", &x86, "83 c7 08", "rdi!", false},
    {"lea rax, [rdi+16]; mov rdi, rsi", &x86, "48 8d 47 10 48 89 f7", "rax! rdi=rax-16", false},
    {"lea rax, [rdi+rsi]; mov rdi, rsi", &x86, "48 8d 04 37 48 89 f7", "rax! rdi!", false},
    {"sub rsp, 24", &x86, "48 83 ec 18", "rsp=rsp+24", false},
    {"sub rsp, 24; mov [rsp+8], rdi; mov rdi, rsi", &x86, "48 83 ec 18 48 89 7c 24 08 48 89 f7",
     "rdi=[rsp+8] rsp=rsp+24", false},
    {"the same, and a byte of it is overwritten", &x86, "48 83 ec 18 48 89 7c 24 08 48 89 f7 c6 44 24 0f 00",
     "rdi! rsp=rsp+24", false},
    {"the same, and it is loaded into rdx", &x86, "48 83 ec 18 48 89 7c 24 08 48 89 f7 48 8b 54 24 08",
     "rdx! rdi=rdx rsp=rsp+24", false},
    {"mov [rsp-8], rdi: the red zone; mov rdi, rsi", &x86, "48 89 7c 24 f8 48 89 f7", "rdi=[rsp-8]", false},
    {"mov [rsp-4], edi", &x86, "89 7c 24 fc", "", false},
    {"mov [rsp], rdi: the return address", &x86, "48 89 3c 24", NULL, false},
    {"mov [rsp+8], rdi: its caller's", &x86, "48 89 7c 24 08", NULL, false},
    {"mov rax, [rsp+8]", &x86, "48 8b 44 24 08", "rax!", false},
    {"mov rax, [rsp+4096]", &x86, "48 8b 84 24 00 10 00 00", NULL, false},
    {"mov rax, [rsp-5000]", &x86, "48 8b 84 24 78 ec ff ff", NULL, false},
    {"mov rax, [rsp+rdi]", &x86, "48 8b 04 3c", NULL, false},
    {"mov rbp, rsp; mov [rbp-16], rdi; mov rdi, rsi", &x86, "48 89 e5 48 89 7d f0 48 89 f7", "rbp! rdi=[rsp-16]",
     false},
    {"mov rbp, rsp; and rsp, -16; mov [rbp-16], rdi; mov rdi, rsi", &x86, "48 89 e5 48 83 e4 f0 48 89 7d f0 48 89 f7",
     "rbp! rdi=[rbp-16] rsp=rbp", false},
    {"push 5", &x86, "6a 05", "rsp=rsp+8", false},
    {"push [rsp+8]", &x86, "ff 74 24 08", "rsp=rsp+8", false},
    {"push [rdi]", &x86, "ff 37", NULL, false},
    {"pop rax", &x86, "58", NULL, false},
    {"mov rax, [rip+x]", &x86, "48 8b 05 00 01 00 00", "rax!", false},
    {"mov [rip+x], rdi: data", &x86, "48 89 3d 00 00 01 00", "", true},
    {"lea rax, [rip+x]; mov [rax], rdi", &x86, "48 8d 05 00 00 01 00 48 89 38", "rax!", true},
    {"lea rax, [rip+x]; mov [rax], rdi: code", &x86, "48 8d 05 00 01 00 00 48 89 38", NULL, false},
    {"mov fs:[0x28], rdi", &x86, "64 48 89 3c 25 28 00 00 00", "", true},
    {"mov fs:[rax], rdi: nobody knows where", &x86, "64 48 89 38", NULL, false},
    {"mov rax, [rip+x]: a variable's distance; mov fs:[rax], rdi", &x86, "48 8b 05 f9 ff 02 00 64 48 89 38", "rax!",
     true},
    {"mov rax, [rip+x]; mov fs:[rax], rdi", &x86, "48 8b 05 f1 ff 02 00 64 48 89 38", NULL, false},
    {"mov rdx, [rip+x]: a distance; mov rcx, fs:[rdx+1016]: the last word", &x86,
     "48 8b 15 f9 ff 02 00 64 48 8b 8a f8 03 00 00", "rcx! rdx!", false},
    {"mov rcx, fs:[rdx+1017]: beyond it", &x86, "48 8b 15 f9 ff 02 00 64 48 8b 8a f9 03 00 00", NULL, false},
    {"mov rcx, fs:[rdx-257]: before the first", &x86, "48 8b 15 f9 ff 02 00 64 48 8b 8a ff fe ff ff", NULL, false},
    {"mov rdx, [rip+x]: that of another file's; mov fs:[rdx], rdi", &x86, "48 8b 15 f9 0f 03 00 64 48 89 3a", "rdx!",
     true},
    {"mov fs:[rdx+8], rdi: no more of it", &x86, "48 8b 15 f9 0f 03 00 64 48 89 7a 08", NULL, false},
    {"and eax, 240; add rax, fs:[0]; add rax, rdx; cmp rcx, [rax+776]", &x86,
     "48 8b 15 f9 ff 02 00 25 f0 00 00 00 64 48 03 04 25 00 00 00 00 48 01 d0 48 3b 88 08 03 00 00", "rax! rdx!",
     false},
    {"the same, with movzx eax, dil: of more bytes", &x86,
     "48 8b 15 f9 ff 02 00 40 0f b6 c7 64 48 03 04 25 00 00 00 00 48 01 d0 48 3b 88 08 03 00 00", NULL, false},
    {"cmp rcx, [rax+777]: it may be beyond the last word", &x86,
     "48 8b 15 f9 ff 02 00 25 f0 00 00 00 64 48 03 04 25 00 00 00 00 48 01 d0 48 3b 88 09 03 00 00", NULL, false},
    {"and mov [rax+8], rdi", &x86,
     "48 8b 15 f9 ff 02 00 25 f0 00 00 00 64 48 03 04 25 00 00 00 00 48 01 d0 48 89 78 08", "rax! rdx!", true},
    {"and ax, 240: what is above stays", &x86,
     "48 8b 15 f9 ff 02 00 66 25 f0 00 64 48 03 04 25 00 00 00 00 48 01 d0 48 3b 88 08 03 00 00", NULL, false},
    {"and rax, -16: of any address", &x86,
     "48 8b 15 f9 ff 02 00 48 83 e0 f0 64 48 03 04 25 00 00 00 00 48 01 d0 48 3b 88 08 03 00 00", NULL, false},
    {"of any index", &x86, "48 8b 15 f9 ff 02 00 64 48 03 04 25 00 00 00 00 48 01 d0 48 3b 88 08 03 00 00", NULL,
     false},
    {"add rax, fs:[8]: that is not the thread pointer", &x86,
     "48 8b 15 f9 ff 02 00 25 f0 00 00 00 64 48 03 04 25 08 00 00 00 48 01 d0 48 3b 88 08 03 00 00", NULL, false},
    {"the distance of another file's", &x86,
     "48 8b 15 f9 0f 03 00 25 f0 00 00 00 64 48 03 04 25 00 00 00 00 48 01 d0 48 89 78 08", NULL, false},
    {"mov rax, fs:[0]; add rax, rdx; mov [rax+8], rdi", &x86,
     "48 8b 15 f9 ff 02 00 64 48 8b 04 25 00 00 00 00 48 01 d0 48 89 78 08", "rax! rdx!", true},
    {"movaps [rax], xmm0: nobody knows how it is aligned", &x86,
     "48 8b 15 f9 ff 02 00 64 48 8b 04 25 00 00 00 00 48 01 d0 0f 29 00", NULL, false},
    {"movzx ecx, dil; lea rax, [rip+x]; add rax, rcx; mov rdx, [rax]: a table", &x86,
     "40 0f b6 cf 48 8d 05 ee ee 03 00 48 01 c8 48 8b 10", "rax! rcx! rdx!", false},
    {"the same, of one byte less", &x86, "40 0f b6 cf 48 8d 05 ef ee 03 00 48 01 c8 48 8b 10", NULL, false},
    {"add rdi, rsi", &x86, "48 01 f7", "rdi!", false},
    {"and edi, 240; add rdi, rsi: no more rsi alone", &x86, "81 e7 f0 00 00 00 48 01 f7 48 89 fe", "rsi! rdi!", false},
    {"movaps [rsp-24], xmm0: as the ABI aligns it", &x86, "0f 29 44 24 e8", "", false},
    {"movaps [rsp-16], xmm0", &x86, "0f 29 44 24 f0", NULL, false},
    {"movups [rsp-16], xmm0", &x86, "0f 11 44 24 f0", "", false},
    {"vxorps xmm0, xmm0, xmm0", &x86, "c5 f8 57 c0", NULL, false},
    {"mulsd xmm0, xmm1", &x86, "f2 0f 59 c1", "", false},
    {"pshufd xmm0, xmm1, 0", &x86, "66 0f 70 c1 00", "", false},
    {"bt [rsp], rax: of any word", &x86, "48 0f a3 04 24", NULL, false},
    {"rep stosq", &x86, "f3 48 ab", NULL, false},
    {"ud2", &x86, "0f 0b", NULL, false},
    {"mov eax, gs:[8]", &x86, "65 8b 04 25 08 00 00 00", NULL, false},
    {"mov ds, eax", &x86, "8e d8", NULL, false},

    {"paciasp: the return address is signed", &arm, "3f 23 03 d5", "x17! x30!", false},
    {"stp x29, x30, [sp, -32]!", &arm, "fd 7b be a9", "sp=sp+32", false},
    {"stp x29, x30, [sp, -32]!; mov x29, sp", &arm, "fd 7b be a9 fd 03 00 91", "x29=[sp+0] sp=sp+32", false},
    {"sub sp, sp, 32; str x0, [sp, 8]; mov x0, x1", &arm, "ff 83 00 d1 e0 07 00 f9 e0 03 01 aa", "x0=[sp+8] sp=sp+32",
     false},
    {"mov x19, x0; mov x0, x1", &arm, "f3 03 00 aa e0 03 01 aa", "x0=x19 x19!", false},
    {"mov w19, w0; mov x0, x1", &arm, "f3 03 00 2a e0 03 01 aa", "x0! x19!", false},
    {"add x0, x0, 16", &arm, "00 40 00 91", "x0=x0-16", false},
    {"str x0, [sp, -16]!; ldr x1, [sp], 16", &arm, "e0 0f 1f f8 e1 07 41 f8", "x1!", false},
    {"ldp x0, x1, [sp, 16]", &arm, "e0 07 41 a9", "x0! x1!", false},
    {"ldr x1, [x0]", &arm, "01 00 40 f9", NULL, false},
    {"str x1, [x0]", &arm, "01 00 00 f9", NULL, false},
    {"str x0, [sp]: its caller's", &arm, "e0 03 00 f9", NULL, false},
    {"strb w0, [sp, -1]!", &arm, "e0 ff 1f 38", "sp=sp+1", false},
    {"udiv x0, x0, x1", &arm, "00 08 c1 9a", "x0!", false},
    {"movz x1, 2", &arm, "41 00 80 d2", "x1!", false},
    {"mrs x0, tpidr_el0", &arm, "40 d0 3b d5", NULL, false},
};

/* END: of the text; NULL: it ends with a NUL. */
static size_t read_hex(const char *text, const char *end, uint8_t *bytes)
{
    size_t count = 0;
    end = end ? end : text + strlen(text);
    while (text < end) {
        char *next;
        unsigned long byte = strtoul(text, &next, 16);
        if (next == text || next > end)
            break;
        bytes[count++] = (uint8_t)byte;
        text = next;
    }
    return count;
}

enum { ADDRESS = 0x1000, DATA = 0x10000, THREAD_OFFSET = 0x31000, OTHERS_OFFSET = 0x32000, THREAD_SIZE = 0x500 };

/* A file with code from 0 to DATA, and from there on data. */
static bool is_mapped(void *context, uint64_t address, uint64_t size, bool writes)
{
    (void)context;
    return address >= (writes ? DATA : 0) && address + size <= 0x40000;
}

static size_t read_nothing(void *context, uint64_t address, void *buffer, size_t size)
{
    (void)context, (void)address, (void)buffer, (void)size;
    return 0;
}

static bool is_code(void *context, uint64_t address)
{
    (void)context;
    return address < DATA;
}

static bool is_thread_offset(void *context, uint64_t address, int64_t *inside)
{
    (void)context;
    *inside = address == THREAD_OFFSET ? 0x100 : -1;
    return address == THREAD_OFFSET || address == OTHERS_OFFSET;
}

static uint64_t no_word(void *context, uint64_t address)
{
    (void)context;
    (void)address;
    return 0;
}

static const struct way_file file = {NULL, is_mapped, read_nothing, no_word, is_code, is_thread_offset, THREAD_SIZE};

/* CODE with two bars: before | function | behind; with one: before | function; with none: the function. */
static struct slide_code code_of(const struct example *example, uint8_t *bytes)
{
    const char *text = example->code, *end = text + strlen(text), *bar = strchr(text, '|');
    const char *second = bar ? strchr(bar + 1, '|') : NULL;
    struct slide_code code = {.bytes = bytes,
                              .limit = example->limit ? example->limit : UINT64_MAX,
                              .marked = UINT64_MAX,
                              .address = ADDRESS,
                              .file = &file};
    /* "f3 0f | | 53": nothing before */
    if (bar && second && bar != text && second == bar + 2) {
        code.size = read_hex(text, bar, bytes);
        code.after = read_hex(second + 1, end, bytes + code.size);
        return code;
    }
    code.before = bar ? read_hex(text, bar, bytes) : 0;
    code.size = read_hex(bar ? bar + 1 : text, second ? second : end, bytes + code.before);
    code.after = second ? read_hex(second + 1, end, bytes + code.before + code.size) : 0;
    return code;
}

static void try(const struct example *example)
{
    uint8_t bytes[64];
    struct slide_place place;
    const struct arch_code *arch = *example->arch;
    struct slide_code code = code_of(example, bytes);
    slide_find(arch, &code, SLIDE_EXACT, &place);
    is_int(place.distance, example->distance, "%s: %s", arch->name, example->name);
    if (!ok(example->why ? place.why && strstr(place.why, example->why) : !place.why, "  and why"))
        fprintf(stderr, "#   %s\n", place.why ? place.why : "nothing");
    slide_find(arch, &code, SLIDE_LOSSY, &place);
    is_int(place.distance, example->lossy, "  lossy");
    slide_find(arch, &code, SLIDE_OFF, &place);
    is_int(place.distance, 0, "  off");
}

/* --- the way there --- */

static const char *name_of(const struct arch_code *arch, unsigned word)
{
    static const char *const x86_names[] = {"r15", "r14", "r13", "r12", "rbp", "rbx", "r11", "r10", "r9",    "r8",
                                            "rax", "rcx", "rdx", "rsi", "rdi", "-",   "-",   "-",   "flags", "rsp"};
    static char arm_name[8];
    if (arch == x86)
        return word < sizeof x86_names / sizeof *x86_names ? x86_names[word] : "?";
    snprintf(arm_name, sizeof arm_name, word == 31 ? "sp" : word == 33 ? "flags" : "x%u", word);
    return arm_name;
}

/* What PLACE says of registers, the flags apart. */
static void write_values(const struct arch_code *arch, const struct slide_place *place, char *text, size_t size)
{
    *text = 0;
    for (size_t i = 0; i < place->count; i++) {
        const struct entry_value *value = &place->values[i];
        size_t length = strlen(text);
        if (!strcmp(name_of(arch, value->word), "flags"))
            continue;
        length += (size_t)snprintf(text + length, size - length, "%s%s", length ? " " : "", name_of(arch, value->word));
        if (value->kind == ENTRY_VALUE_GONE)
            length += (size_t)snprintf(text + length, size - length, "!");
        else if (value->kind == ENTRY_VALUE_REGISTER)
            length += (size_t)snprintf(text + length, size - length, "=%s", name_of(arch, value->base));
        else
            length +=
                (size_t)snprintf(text + length, size - length, "=[%s%+d]", name_of(arch, value->base), value->offset);
        if (value->plus)
            snprintf(text + length, size - length, "%+d", -value->plus);
    }
}

static void try_way(size_t number)
{
    uint8_t bytes[64];
    char text[256];
    struct slide_place place;
    const struct arch_code *arch = *ways[number].arch;
    size_t size = read_hex(ways[number].code, ways[number].code + strlen(ways[number].code), bytes);
    size_t rest = read_hex(arch == x86 ? "53 5b c3" : "10 00 00 14", NULL, bytes + size);
    struct slide_code code = {.bytes = bytes,
                              .size = size + rest,
                              .limit = UINT64_MAX,
                              .marked = UINT64_MAX,
                              .address = ADDRESS,
                              .file = &file};
    slide_find(arch, &code, SLIDE_EXACT, &place);
    write_values(arch, &place, text, sizeof text);
    is_int(place.distance, ways[number].values ? (int64_t)size : 0, "%s: %s", arch->name, ways[number].name);
    is_str(text, ways[number].values ? ways[number].values : "", "  what is where");
    is_int(place.wrote, ways[number].wrote, "  memory is written");
}

/* --- far jumps --- */

struct targets {
    uint64_t last;
    unsigned count;
};

static void note(uint64_t target, void *context)
{
    struct targets *targets = context;
    targets->last = target;
    targets->count++;
}

static void try_far(const struct arch_code *arch, const char *name, const char *hex, uint64_t address, uint64_t low,
                    uint64_t high, uint64_t target)
{
    uint8_t bytes[64];
    struct targets targets = {0};
    size_t size = read_hex(hex, hex + strlen(hex), bytes);
    arch->far_targets(bytes, size, address, low, high, note, &targets);
    is_int(targets.count, target != 0, "%s: %s: found", arch->name, name);
    is_int((int64_t)targets.last, (int64_t)target, "  where it leads");
}

/* --- what the kernel does with aarch64's instructions: arch/arm64/kernel/probes/decode-insn.c --- */

enum { STEPPED, SIMULATED, REFUSED, MISTAKEN };

static const struct {
    const char *name;
    uint32_t word;
    int expected;
} handled[] = {
    {"nop", 0xd503201f, STEPPED},
    {"bti c", 0xd503245f, STEPPED},
    {"bti jc", 0xd50324df, STEPPED},
    {"paciasp", 0xd503233f, STEPPED},
    {"pacibz", 0xd503235f, STEPPED},
    {"pacib1716", 0xd503215f, STEPPED},
    {"xpaclri", 0xd50320ff, STEPPED},
    {"mrs x0, tpidr_el0", 0xd53bd040, STEPPED},
    {"dmb ish", 0xd5033bbf, STEPPED},
    {"ldadd x0, x1, [x2]", 0xf8200041, STEPPED},
    {"stp x29, x30, [sp, -32]!", 0xa9be7bfd, STEPPED},
    {"adr x0, 8", 0x10000040, SIMULATED},
    {"adrp x1, 0x21000", 0xb0000101, SIMULATED},
    {"b 8", 0x14000002, SIMULATED},
    {"bl 8", 0x94000002, SIMULATED},
    {"br x1", 0xd61f0020, SIMULATED},
    {"blr x1", 0xd63f0020, SIMULATED},
    {"ret", 0xd65f03c0, SIMULATED},
    {"b.eq 8", 0x54000040, SIMULATED},
    {"cbnz w0, 8", 0x35000040, SIMULATED},
    {"tbnz x0, 33, 8", 0xb7080040, SIMULATED},
    {"ldr x0, literal", 0x58000040, MISTAKEN},
    {"ldrsw x0, literal", 0x98000040, MISTAKEN},
    {"prfm literal", 0xd8000040, MISTAKEN},
    {"ldr s0, literal", 0x1c000040, MISTAKEN},
    {"ldr d0, literal", 0x5c000040, MISTAKEN},
    {"ldr q0, literal", 0x9c000040, MISTAKEN},
    {"ldr x0, [x1]", 0xf9400020, STEPPED},
    {"ldr d0, [x1]", 0xfd400020, STEPPED},
    {"autiasp", 0xd50323bf, REFUSED},
    {"yield", 0xd503203f, REFUSED},
    {"svc 0", 0xd4000001, REFUSED},
    {"brk 1", 0xd4200020, REFUSED},
    {"retaa", 0xd65f0bff, REFUSED},
    {"braa x0, x1", 0xd71f0801, REFUSED},
    {"eret", 0xd69f03e0, REFUSED},
    {"msr tpidr_el0, x0", 0xd51bd040, REFUSED},
    {"msr daifset, 2", 0xd50342df, REFUSED},
    {"ldxr x0, [x1]", 0xc85f7c20, REFUSED},
    {"stlxr w0, x1, [x2]", 0xc800fc41, REFUSED},
    {"ldxp x0, x1, [x2]", 0xc87f0440, REFUSED},
    {"caspal x0, x1, x2, x3, [x4]", 0x4860fc82, REFUSED},
    {"ldar x0, [x1]", 0xc8dffc20, STEPPED},
    {"stlr x0, [x1]", 0xc89ffc20, STEPPED},
    {"casal x0, x1, [x2]", 0xc8e0fc41, STEPPED},
};

static void try_handled(void)
{
    for (size_t i = 0; i < sizeof handled / sizeof *handled; i++) {
        struct arch_instruction instruction = {0};
        bool decoded = arm->decode((const uint8_t *)&handled[i].word, sizeof handled[i].word, &instruction);
        int is = !decoded               ? -1
                 : instruction.mistaken ? MISTAKEN
                 : instruction.refused  ? REFUSED
                 : instruction.emulated ? SIMULATED
                                        : STEPPED;
        is_int(is, handled[i].expected, "%s: %s", arm->name, handled[i].name);
    }
}

/* --- where the CPU must not be interrupted --- */

/* WHERE: for each instruction of CODE the words from it to behind the store. */
static void try_uninterrupted(const char *name, const char *hex, const char *where)
{
    uint8_t bytes[64];
    size_t size = read_hex(hex, hex + strlen(hex), bytes);
    for (size_t at = 0; at < size; at += 4)
        is_int((int64_t)arm->uninterrupted(bytes, size, at), 4 * (where[at / 4] - '0'), "%s: instruction %zu", name,
               at / 4);
}

int main(void)
{
    try_handled();
    try_uninterrupted("mov; ldaxr; cmp; b.ne; stlxr; cbnz; ret",
                      "e1 03 00 aa 20 fc 5f c8 1f 00 02 eb 61 00 00 54 23 fc 04 c8 84 ff ff 35 c0 03 5f d6", "0032100");
    try_uninterrupted("ldar; add; stlr", "20 fc df c8 00 04 00 91 20 fc 9f c8", "000");
    try_uninterrupted("caspal; add; stxr", "82 fc 60 48 00 04 00 91 41 fc 00 c8", "000");
    try_uninterrupted("ldxr without a store", "20 7c 5f c8 00 04 00 91", "00");
    is_int((int64_t)x86->uninterrupted((const uint8_t *)"\xf0\x0f\xb1\x17", 4, 0), 0,
           "x86_64: no instruction waits for another");
    for (size_t i = 0; i < sizeof examples / sizeof *examples; i++)
        try(&examples[i]);
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++)
        try_way(i);
    try_far(x86, "call", "90 e8 fb ff 00 00", 0x1000, 0x11000, 0x11002, 0x11001);
    try_far(x86, "jmp back", "e9 f0 ff ff ff", 0x1000, 0xff0, 0x1000, 0xff5);
    try_far(x86, "jne", "90 90 0f 85 00 01 00 00", 0x1000, 0x1108, 0x1109, 0x1108);
    try_far(x86, "jne beyond", "90 90 0f 85 00 01 00 00", 0x1000, 0x1109, 0x1200, 0);
    try_far(x86, "jne before", "90 90 0f 85 00 01 00 00", 0x1000, 0x1000, 0x1108, 0);
    try_far(x86, "one that is cut off", "90 e8 fb ff 00", 0x1000, 0, UINT64_MAX, 0);
    try_far(arm, "bl", "1f 20 03 d5 00 01 00 94", 0x1000, 0x1404, 0x1405, 0x1404);
    try_far(arm, "b.eq back", "e0 ff ff 54", 0x1000, 0xffc, 0x1000, 0xffc);
    try_far(arm, "tbz", "40 00 00 36", 0x1000, 0x1008, 0x1009, 0x1008);
    return done_testing();
}
