/*
 * Where DWARF says that a variable is: each operation that compilers write, lists of both kinds, and what is damaged.
 * The debug information is written here, byte by byte: of one function, at 0x1000 to 0x2000, whose frame base is the
 * canonical frame address.
 */
#include <elfutils/libdw.h>
#include <errno.h>

#include "sym/location.h"

#include "programs.h"

/* The head of the file; then come variables, and lists of theirs. */
static const char head[] =
    ".section .debug_abbrev\n.byte 1,0x11,1, 0x11,1, 0x12,7\n.if VERSION==5\n.byte 0x73,0x17, "
    "0x8c,1,0x17\n.endif\n.byte 0,0\n"
    ".byte 2,0x2e,1, 0x11,1, 0x12,7, 0x40,0x18, 0,0, 3,0x34,0, 2,0x18, 0,0, 4,0x34,0, 2,0x17, 0,0, 5,0x34,0, 2,0x22, "
    "0,0, 6,0x34,0, 0x1c,0x0d, 0,0, 7,0x34,0, 0,0\n"
    ".byte 8,0x24,0, 0xb,0xb, 0x3e,0xb, 0,0, 0\n"
    ".section .debug_addr,\"\",@progbits\n.long 4f-3f\n3:.short 5\n.byte 8,0\n.quad 0x1000,0x7777\n4:\n"
    ".section .debug_info\nunit:.long 2f-1f\n1:.short VERSION\n.if VERSION==5\n.byte 1,8\n.long 0\n.else\n.long "
    "0\n.byte 8\n.endif\n"
    ".byte 1\n.quad 0x1000,0x1000\n.if VERSION==5\n.long 8,12\n.endif\n"
    "narrow:.byte 8,4,7\nwide:.byte 8,8,7\nbyte:.byte 8,1,5\n.byte 2\n.quad 0x1000,0x1000\n.uleb128 6f-5f\n5:.byte "
    "FRAME\n6:\n";

/* By GNU as, in the order of its bytes: "3" is DW_OP_addr. */
static const struct {
    const char *text, *bytes, *want;
} expressions[] = {
    {"a register", ".byte 0x55", "r5"},
    {"a register by number", ".byte 0x90,33", "r33"},
    {"in the frame", ".byte 0x91,0x6c", "[cfa-20]"},
    {"behind an address in the frame", ".byte 0x91,0x58,0x06", "[[cfa-40]+0]"},
    {"at an offset from what an address leads to", ".byte 0x91,0x58,0x06,0x23,8", "[[cfa-40]+8]"},
    {"at a register's address", ".byte 0x77,8", "[r7+8]"},
    {"at an address of the file", ".byte 3\n.quad 0x4000", "[file+16384]"},
    {"at a numbered address of the file", ".byte 0xa1,0", "[file+4096]"},
    {"a register and a number", ".byte 0x75,1,0x9f", "=r5+1"},
    {"a register less a number", ".byte 0x75,0,0x31,0x1c,0x9f", "=r5-1"},
    {"the lower half", ".byte 0x75,0,0x0c\n.long 0xffffffff\n.byte 0x1a,0x9f", "=r5+0:32"},
    {"the lower half by type",
     ".byte 0x75,0,0xa8\n.uleb128 wide-unit\n.byte 0xa8\n.uleb128 narrow-unit\n.byte 0x9f,0x93,4", "=r5+0:32/4"},
    {"a narrower type with a sign", ".byte 0x75,0,0xa8\n.uleb128 byte-unit\n.byte 0x9f", "=(r5+0 narrow -8)"},
    {"a sum of two registers", ".byte 0x75,1,0x74,2,0x22,0x9f", "=(r5+1 + r4+2)"},
    {"a difference that is cut as its type is",
     ".byte 0x75,0,0xa8\n.uleb128 narrow-unit\n.byte 0x74,0,0xa8\n.uleb128 narrow-unit\n.byte 0x1c,0x9f",
     "=((r5+0:32 - r4+0:32) narrow 32)"},
    {"a sign that is extended by shifts", ".byte 0x75,0,0x48,0x24,0x48,0x26,0x9f", "=((r5+0 << 24) >>s 24)"},
    {"a quotient", ".byte 0x75,0,0x33,0x1b,0x9f", "=(r5+0 / 3)"},
    {"a remainder, which has no sign", ".byte 0x75,0,0x33,0x1d,0x9f",
     "no: the debug information computes it in a way that is not understood"},
    {"a comparison the other way round", ".byte 0x75,0,0x33,0x2b,0x9f", "=(3 < r5+0)"},
    {"a negative", ".byte 0x75,0,0x1f,0x9f", "=(0 - r5+0)"},
    {"a complement", ".byte 0x75,0,0x20,0x9f", "=(r5+0 ^ -1)"},
    {"a word of four bytes", ".byte 0x91,8,0x94,4,0x9f", "=(cfa+8 load 32)"},
    {"a word of three bytes", ".byte 0x91,8,0x94,3,0x9f",
     "no: the debug information computes it in a way that is not understood"},
    {"a register by type", ".byte 0xa5,5\n.uleb128 byte-unit\n.byte 0x9f", "=(r5+0 narrow -8)"},
    {"memory by type", ".byte 0x75,0,0xa6,1\n.uleb128 byte-unit\n.byte 0x9f", "=((r5+0 load 8) narrow -8)"},
    {"a constant by type", ".byte 0xa4\n.uleb128 byte-unit\n.byte 1,0xfe,0x9f", "=-2"},
    {"a constant of another size than its type", ".byte 0xa4\n.uleb128 byte-unit\n.byte 2,0xfe,1,0x9f",
     "no: the debug information computes it in a way that is not understood"},
    {"a thread's own", ".byte 0x0e,8,0,0,0,0,0,0,0,0xe0", "[thread+8]"},
    {"a thread's own, by DWARF 4's word for it", ".byte 0x31,0x9b,0x23,4", "[thread+5]"},
    {"a thread's own that is computed", ".byte 0x75,0,0xe0",
     "no: the debug information computes it in a way that is not understood"},
    {"terms without end", ".byte 0x75,0\n.fill 40,2,0x2212",
     "no: the debug information computes it in a way that is not understood"},
    {"a constant", ".byte 0x37,0x9f", "=7"},
    {"a negative constant", ".byte 0x09,0xff,0x9f", "=-1"},
    {"a computed constant", ".byte 0x33,0x34,0x24,0x31,0x21,0x9f", "=49"},
    {"a large constant by number", ".byte 0xa2,1,0x9f", "=30583"},
    {"bytes", ".byte 0x9e,2,7,0", "bytes/2"},
    {"a register at the entry", ".byte 0xa3,1,0x55,0x9f", "=entry r5+0"},
    {"the same before DWARF 5", ".byte 0xf3,1,0x55,0x9f", "=entry r5+0"},
    {"memory at the entry", ".byte 0xa3,2,0x75,0,0x9f",
     "no: the debug information computes it in a way that is not understood"},
    {"pieces", ".byte 0x54,0x93,8,0x93,4,0x91,0x70,0x93,4",
     "r4/8 | no/4: the compiler has optimised it away here | [cfa-16]/4"},
    {"what only callers know", ".byte 0xfa\n.long 0",
     "no: the compiler does not pass it: the debug information has it only in the callers"},
    {"what a pointer would lead to", ".byte 0xf2\n.long 0\n.byte 0",
     "no: the compiler has optimised away what it points to, so that there is no address"},
    {"a jump", ".byte 0x2f,0,0", "no: the debug information computes it in a way that is not understood"},
    {"an empty stack", ".byte 0x06", "no: the debug information computes it in a way that is not understood"},
    {"a full stack", ".fill 40,1,0x31", "no: the debug information computes it in a way that is not understood"},
    {"too many pieces", ".rept 9\n.byte 0x54,0x93,1\n.endr",
     "no: the debug information computes it in a way that is not understood"},
    {"three addresses one behind the other", ".byte 0x91,0,0x06,0x06,0x06", "[([[cfa+0]+0]+0 load 64)]"},
    {"a cut number", ".byte 0x0e,1,2", "no: its debug information is damaged"},
    {"a number that does not end", ".byte 0x91,0x80", "no: its debug information is damaged"},
    {"bytes beyond the end", ".byte 0x9e,200,1", "no: its debug information is damaged"},
    {"a register at the entry, cut", ".byte 0xa3,9,0x55", "no: its debug information is damaged"},
    {"an address whose number is too large", ".byte 0xa1,200,1",
     "no: the debug information computes it in a way that is not understood"},
};
enum { EXPRESSIONS = sizeof expressions / sizeof *expressions };

static int describe_number(char *text, size_t size, const struct location *location,
                           const struct location_number *number);

static void describe_term(char *text, size_t size, const struct location *location, const struct location_term *term)
{
    static const char *const operations[] = {"+",  "-",   "*",  "/",  "&", "|",  "^",      "<<",
                                             ">>", ">>s", "==", "!=", "<", "<=", "narrow", "load"};
    char a[300], b[300];
    describe_number(a, sizeof a, location, &term->a);
    describe_number(b, sizeof b, location, &term->b);
    if (term->operation >= LOCATION_NARROW)
        snprintf(b, sizeof b, "%d", term->bits);
    snprintf(text, size, "(%.140s %s %.140s)", a, operations[term->operation], b);
}

static int describe_number(char *text, size_t size, const struct location *location,
                           const struct location_number *number)
{
    static const char *const bases[] = {"", "file", "r", "entry r", "cfa", "thread", ""};
    char inner[340], reg[320] = "";
    if (number->base == LOCATION_REGISTER || number->base == LOCATION_ENTRY_REGISTER)
        snprintf(reg, sizeof reg, "%u", number->reg);
    if (number->base == LOCATION_COMPUTED)
        describe_term(reg, sizeof reg, location, &location->terms[number->term]);
    if (number->base == LOCATION_COMPUTED && !number->offset)
        snprintf(inner, sizeof inner, "%s", reg);
    else
        snprintf(inner, sizeof inner, number->base == LOCATION_ZERO ? "%s%s%lld" : "%s%s%+lld", bases[number->base],
                 reg, (long long)number->offset);
    for (unsigned i = 0; i < number->loads; i++) {
        char outer[340];
        snprintf(outer, sizeof outer, "[%.300s]%+lld", inner, (long long)number->after[i]);
        snprintf(inner, sizeof inner, "%s", outer);
    }
    return number->bits < 64 ? snprintf(text, size, "%s:%u", inner, number->bits) : snprintf(text, size, "%s", inner);
}

static const char *describe(const struct location *location, char text[1024])
{
    size_t used = 0;
    text[0] = '\0';
    for (size_t i = 0; i < location->count; i++) {
        const struct location_piece *piece = &location->pieces[i];
        char number[400], size[32] = "";
        describe_number(number, sizeof number, location, &piece->number);
        if (piece->size)
            snprintf(size, sizeof size, "/%llu", (unsigned long long)piece->size);
        used += (size_t)snprintf(text + used, 1024 - used, "%s", i ? " | " : "");
        if (piece->kind == LOCATION_MISSING)
            used += (size_t)snprintf(text + used, 1024 - used, "no%s: %s", size, piece->why);
        else if (piece->kind == LOCATION_IN_REGISTER)
            used += (size_t)snprintf(text + used, 1024 - used, "r%u%s", piece->number.reg, size);
        else if (piece->kind == LOCATION_IS_BYTES)
            used += (size_t)snprintf(text + used, 1024 - used, "bytes%s", size);
        else
            used += (size_t)snprintf(text + used, 1024 - used, piece->kind == LOCATION_IN_MEMORY ? "[%s]%s" : "=%s%s",
                                     number, size);
    }
    return text;
}

/* The variable NUMBER of the only function of what was built: where it is at ADDRESS, or the error. */
static const char *where(struct debuginfo *debuginfo, unsigned number, uint64_t address, bool at_entry, char text[1024])
{
    struct location location;
    Dwarf_CU *cu = NULL;
    Dwarf_Die unit, function, variable;
    if (dwarf_get_units(debuginfo_dwarf(debuginfo), cu, &cu, NULL, NULL, &unit, NULL) || dwarf_child(&unit, &function))
        return "no unit";
    while (dwarf_tag(&function) != 0x2e)
        if (dwarf_siblingof(&function, &function))
            return "no function";
    if (dwarf_child(&function, &variable))
        return "no variable";
    while (number--)
        if (dwarf_siblingof(&variable, &variable))
            return "no such variable";
    int code =
        location_find(debuginfo, dwarf_dieoffset(&variable), dwarf_dieoffset(&function), address, at_entry, &location);
    return code == -ENODATA  ? "ENODATA"
           : code == -ERANGE ? "ERANGE"
           : code == -EINVAL ? "EINVAL"
           : code            ? "?"
                             : describe(&location, text);
}

/* Assembles the head, of VERSION and with FRAME as frame base, and BODY. */
static struct debuginfo *build(int version, const char *frame, const char *body)
{
    static char source[1 << 16];
    struct debuginfo *debuginfo = NULL;
    struct elf_file elf;
    snprintf(source, sizeof source, ".set VERSION,%d\n%s%s\n.section .debug_info\n.byte 0,0\n2:\n", version, head,
             body);
    char *at = strstr(source, "FRAME");
    memcpy(at, frame, 4);
    at[4] = ' ';
    write_file("location.s", source);
    if (!shell("as location.s -o location.o"))
        return NULL;
    int fd = open(in_dir("location.o"), O_RDONLY | O_CLOEXEC);
    if (fd >= 0 && !elf_file_open(&elf, fd))
        debuginfo_open(&debuginfo, &elf, NULL, true);
    elf_file_close(&elf);
    close(fd);
    return debuginfo;
}

static void check_expressions(int version)
{
    static char body[1 << 15];
    char text[1024];
    size_t used = 0;
    for (size_t i = 0; i < EXPRESSIONS; i++)
        used += (size_t)snprintf(body + used, sizeof body - used, ".byte 3\n.uleb128 8f-7f\n7:%s\n8:\n",
                                 expressions[i].bytes);
    struct debuginfo *debuginfo = build(version, "0x9c", body);
    ok(debuginfo != NULL, "expressions of DWARF %d", version);
    for (unsigned i = 0; debuginfo && i < EXPRESSIONS; i++)
        is_str(where(debuginfo, i, 0x1010, false, text), expressions[i].want, "%s", expressions[i].text);
    debuginfo_free(debuginfo);
}

/* Variables by a list: the first at 0, its entry for no code first; the second has a base; a constant; nothing; and
 * lists that are damaged. */
static const char lists_of_5[] =
    ".byte 4\n.long 24\n.byte 5,1\n.byte 6,0x79\n.byte 7\n.byte 4\n.long 5000\n.byte 5\n.uleb128 5000\n.byte 4\n.long "
    "last-lists\n"
    ".section .debug_loclists,\"\",@progbits\nlists:.long 9f-8f\n8:.short 5\n.byte 8,0\n.long 2\n.long "
    "first-offsets,second-offsets\n"
    ".set offsets,lists+12\n.byte 0,0,0,0\n"
    "first:.byte 9,1,2,4,0,0,1,0x55,4,0\n.uleb128 0x10\n.byte 3,0x75,1,0x9f,4,0x10\n.uleb128 0x20\n.byte 1,0x53,0\n"
    "second:.byte 6\n.quad 0x1100\n.byte 4,0,8,1,0x54,7\n.quad 0x1200,0x1208\n.byte 1,0x56,8\n.quad 0x1300\n.byte "
    "8,1,0x57,3,0\n.uleb128 4\n.byte 1,0x58,2,0,1,1,0x59,5,1,0x51,0\n"
    "last:.byte 4,0,100,200\n9:\n.section .debug_info\n";
static const char lists_of_4[] = ".byte 4\n.long 0\n.byte 4\n.long 1000\n.section .debug_loc,\"\",@progbits\n"
                                 ".quad 0,0x10\n.short 1\n.byte 0x55\n.quad -1,0x1100\n.quad 0,8\n.short 1\n.byte "
                                 "0x54\n.quad 8,16\n.short 200\n.section .debug_info\n";

static void check_lists(void)
{
    char text[1024];
    struct debuginfo *debuginfo = build(5, "0x9c", lists_of_5);
    ok(debuginfo != NULL, "lists of DWARF 5");
    if (debuginfo) {
        is_str(where(debuginfo, 0, 0x1000, true, text), "r5", "as the function is entered, before its first statement");
        is_str(where(debuginfo, 0, 0x1000, false, text), "=r5+1", "… and behind that, which has no code");
        is_str(where(debuginfo, 0, 0x101f, false, text), "r3", "the last byte of a range");
        is_str(where(debuginfo, 0, 0x1020, false, text), "ERANGE", "behind the last range");
        is_str(where(debuginfo, 1, 0x1104, false, text), "r4", "by its number, from a base");
        is_str(where(debuginfo, 1, 0x1204, false, text), "r6", "from and to");
        is_str(where(debuginfo, 1, 0x1307, false, text), "r7", "from and how many");
        is_str(where(debuginfo, 1, 0x1003, false, text), "r8", "from an address by number");
        is_str(where(debuginfo, 1, 0x6000, false, text), "r9", "between two of them");
        is_str(where(debuginfo, 1, 0x8000, false, text), "r1", "everywhere else");
        is_str(where(debuginfo, 2, 0x1000, false, text), "=-7", "a constant");
        is_str(where(debuginfo, 3, 0x1000, false, text), "ENODATA", "nothing says where");
        is_str(where(debuginfo, 4, 0x1000, false, text), "EINVAL", "a list behind the end");
        is_str(where(debuginfo, 5, 0x1000, false, text), "EINVAL", "a list whose number is too large");
        is_str(where(debuginfo, 6, 0x1000, false, text), "EINVAL", "a list that is cut");
    }
    debuginfo_free(debuginfo);
    debuginfo = build(4, "0x9c", lists_of_4);
    ok(debuginfo != NULL, "lists of DWARF 4");
    if (debuginfo) {
        is_str(where(debuginfo, 0, 0x1004, false, text), "r5", "from the unit's address");
        is_str(where(debuginfo, 0, 0x1104, false, text), "r4", "from a base");
        is_str(where(debuginfo, 0, 0x1200, false, text), "EINVAL", "a list that is cut");
        is_str(where(debuginfo, 1, 0x1000, false, text), "EINVAL", "a list behind the end");
    }
    debuginfo_free(debuginfo);
}

static void check_frames(void)
{
    static const char in_frame[] = ".byte 3\n.uleb128 2\n.byte 0x91,0x6c\n";
    char text[1024];
    struct debuginfo *debuginfo = build(5, "0x56", in_frame);
    is_str(debuginfo ? where(debuginfo, 0, 0x1010, false, text) : "", "[r6-20]", "counted from a register");
    debuginfo_free(debuginfo);
    debuginfo = build(5, "0x91", in_frame);
    is_str(debuginfo ? where(debuginfo, 0, 0x1010, false, text) : "",
           "no: the debug information computes it in a way that is not understood",
           "a frame that is counted from itself");
    debuginfo_free(debuginfo);
}

int main(void)
{
    begin_programs();
    check_expressions(4);
    check_expressions(5);
    check_lists();
    check_frames();
    return end_programs();
}
