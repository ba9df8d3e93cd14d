/* Frames of aarch64 without call frame information, by the code that leads to an epilogue (bpf/epilogue.h), on either
 * CPU. */
#define __TARGET_ARCH_arm64
#undef __TARGET_ARCH_x86
#include "../bpf/epilogue.h"

#include "tap.h"

enum {
    PACIASP = 0xd503233f,
    AUTIASP = 0xd50323bf,
    NOP = 0xd503201f,
    RET = 0xd65f03c0,
    BL = 0x94000000 | 0x1000,      /* to elsewhere */
    B = 0x14000000,                /* by the instructions that are added */
    BACK = 0x14000000 | 0x3ffffff, /* to the instruction before it; one further back for each that is subtracted */
    CBZ = 0xb4000000,              /* x0, by 32 for each instruction */
    BR_X2 = 0xd61f0040,
    BR_X16 = 0xd61f0200,
};

/* The rule at instruction START of CODE: behind a call, or before that instruction where BEFORE. */
static __u64 rule_at(const __u32 *code, __u64 size, __u64 start, int before)
{
    enum { BASE = 0x10000 };
    struct epilogue way = {.start = BASE + start * 4 + before};
    epilogue_begin(&way, 0);
    for (int i = 0; i < EPILOGUE_STEPS; i++) {
        __u64 at = (way.at - BASE) / 4;
        if (epilogue_take(&way, at < size ? code[at] : 0))
            return epilogue_rule(&way);
    }
    return RULE_UNKNOWN;
}
#define AFTER(code, start) rule_at(code, sizeof(code) / 4, start, 0)
#define BEFORE(code, start) rule_at(code, sizeof(code) / 4, start, 1)

#define BY_STACK(size, frame, link) RULE(RULE_REGISTER, 31ull, size, frame, link)
#define BY_POINTER(size, frame, link) RULE(RULE_REGISTER, 29ull, size, frame, link)

static void test_frames(void)
{
    static const __u32 plain[] = {/* gcc -fomit-frame-pointer */
                                  PACIASP,
                                  0xa9bd53f3 /* stp x19, x20, [sp, #-48]! */,
                                  0xa9015bf5 /* stp x21, x22, [sp, #16] */,
                                  0xa9027bf7 /* stp x23, x30, [sp, #32] */,
                                  BL,
                                  0x9b170273 /* madd x19, x19, x23, x0 */,
                                  0xa9427bf7 /* ldp x23, x30, [sp, #32] */,
                                  0xa9415bf5,
                                  0xa8c353f3 /* ldp x19, x20, [sp], #48 */,
                                  AUTIASP,
                                  RET};
    ok(AFTER(plain, 5) == BY_STACK(48, 0, -8), "a return address beside another register");
    ok(BEFORE(plain, 0) == BY_STACK(0, 0, 0) && BEFORE(plain, 1) == BY_STACK(0, 0, 0),
       "where it begins, it is in the link register");
    ok(BEFORE(plain, 2) == BY_STACK(48, 0, 0), "… as it is until it is stored");
    ok(BEFORE(plain, 4) == BY_STACK(48, 0, -8) && BEFORE(plain, 6) == BY_STACK(48, 0, -8), "… and then in memory");
    ok(BEFORE(plain, 7) == BY_STACK(48, 0, 0), "… until it is back");
    ok(BEFORE(plain, 9) == BY_STACK(0, 0, 0) && BEFORE(plain, 10) == BY_STACK(0, 0, 0), "… at last without a frame");

    static const __u32 pointed[] = {/* gcc -fno-omit-frame-pointer; two blocks have one end */
                                    0xa9bc7bfd /* stp x29, x30, [sp, #-64]! */,
                                    0x910003fd /* mov x29, sp */,
                                    CBZ + 32 * 5,
                                    BL,
                                    0xf9401bf7 /* ldr x23, [sp, #48] */,
                                    0xa8c47bfd /* ldp x29, x30, [sp], #64 */,
                                    RET,
                                    BL,
                                    BACK - 3};
    ok(AFTER(pointed, 4) == BY_STACK(64, -64, -56), "a frame record");
    ok(AFTER(pointed, 8) == BY_STACK(64, -64, -56), "its end stands before");
    ok(BEFORE(pointed, 1) == BY_STACK(64, -64, -56), "before it is pointed to");

    static const __u32 clang[] = {0xd10083ff /* sub sp, sp, #32 */,
                                  0xa9017bfd /* stp x29, x30, [sp, #16] */,
                                  0x910043fd /* add x29, sp, #16 */,
                                  BL,
                                  0xa9417bfd /* ldp x29, x30, [sp, #16] */,
                                  0x910083ff /* add sp, sp, #32 */,
                                  RET};
    ok(AFTER(clang, 4) == BY_STACK(32, -16, -8), "a record at the end of a frame");
    ok(BEFORE(clang, 1) == BY_STACK(32, 0, 0), "… that is not there yet");

    static const __u32 variable[] = {BL,
                                     0x910003bf /* mov sp, x29 */,
                                     0xa94153f3 /* ldp x19, x20, [sp, #16] */,
                                     0xa8c37bfd /* ldp x29, x30, [sp], #48 */,
                                     AUTIASP,
                                     RET};
    ok(AFTER(variable, 1) == BY_POINTER(48, -48, -40), "a frame of variable size, by its pointer");

    static const __u32 vectors[] = {BL, 0x6cc127e8 /* ldp d8, d9, [sp], #16 */, 0xf84107fe /* ldr x30, [sp], #16 */,
                                    RET};
    ok(AFTER(vectors, 1) == BY_STACK(32, 0, -16), "registers for floating point beside it");
}

static void test_ways(void)
{
    static const __u32 tail[] = {BL, 0xa8c17bfd /* ldp x29, x30, [sp], #16 */, B + 0x1000};
    ok(AFTER(tail, 1) == BY_STACK(16, -16, -8), "an end that jumps to another function");
    static const __u32 pointer[] = {BL, 0xa8c17bfd, BR_X16};
    ok(AFTER(pointer, 1) == BY_STACK(16, -16, -8), "… by a register");
    static const __u32 stub[] = {0x90000010 /* adrp x16 */, 0xf9400211 /* ldr x17, [x16] */,
                                 0x91000210 /* add x16, x16, #0 */, BR_X16 | 1 << 5};
    ok(BEFORE(stub, 0) == BY_STACK(0, 0, 0) && BEFORE(stub, 3) == BY_STACK(0, 0, 0),
       "a stub of the procedure linkage table");
    static const __u32 aborts[] = {
        CBZ + 32 * 2, BL /* never returns */, CBZ + 32 * 3, BL, PACIASP /* of the next function */, 0xa8c17bfd, RET};
    ok(AFTER(aborts, 2) == BY_STACK(16, -16, -8), "a branch past a call that never returns");

    static const __u32 next[] = {BL, 0xa9be7bfd /* stp x29, x30, [sp, #-32]! */, 0x910003fd, BL, 0xa8c27bfd, RET};
    ok(AFTER(next, 1) == RULE_UNKNOWN, "behind such a call the next function is none of its");
    ok(AFTER(next, 4) == BY_STACK(32, -32, -24), "… which has a frame of its own");
    static const __u32 leaf[] = {BL, 0x8b000000 /* add x0, x0, x0 */, RET};
    ok(AFTER(leaf, 1) == RULE_UNKNOWN, "… nor if that makes no frame");
    ok(BEFORE(leaf, 1) == BY_STACK(0, 0, 0), "… of which the link register has the return address");
    static const __u32 ever[] = {BL, NOP, BACK - 1};
    ok(AFTER(ever, 1) == RULE_UNKNOWN, "a loop without an end");
    static const __u32 table[] = {BL, BR_X2, 0xa8c17bfd, RET};
    ok(AFTER(table, 1) == RULE_UNKNOWN, "a jump to where is not known");
    static const __u32 lost[] = {BL, 0x9100013f /* mov sp, x9 */, 0xa8c17bfd, RET};
    ok(AFTER(lost, 1) == RULE_UNKNOWN, "a stack pointer from elsewhere");
    static const __u32 moved[] = {BL, 0xaa1103fe /* mov x30, x17 */, RET};
    ok(AFTER(moved, 1) == RULE_UNKNOWN, "a return address from elsewhere");
    static const __u32 above[] = {BL, 0xf94013fe /* ldr x30, [sp, #32] */, 0x910043ff /* add sp, sp, #16 */, RET};
    ok(AFTER(above, 1) == RULE_UNKNOWN, "one above the frame");
    static const __u32 probed[] = {0xd42000a0 /* brk #5, in place of what is not known */, RET};
    ok(BEFORE(probed, 0) == RULE_UNKNOWN, "an instruction that a probe stands for");
}

int main(void)
{
    test_frames();
    test_ways();
    return done_testing();
}
