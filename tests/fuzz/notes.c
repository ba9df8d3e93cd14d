/* USDT notes of any ELF file, and operands that are any text, of both CPUs. */
#include <stdlib.h>

#include "arch/usdt.h"
#include "fuzz.h"
#include "probe/usdt/usdt_notes.h"

static void parse(const char *text)
{
    static const uint16_t machines[] = {EM_X86_64, EM_AARCH64};
    for (int i = 0; i < 2; i++) {
        char *copy = strdup(text), *rest = copy, *operand;
        while (copy && (operand = usdt_next_operand(&rest))) {
            struct usdt_operand o = usdt_parse(machines[i], operand);
            int bits = abs(o.bits);
            if (o.place == USDT_NOWHERE
                    ? !o.why
                    : o.base > 34 * 8 || o.shift > 4 || (o.index_bits && (o.index < 0 || o.index > 34 * 8)) ||
                          (bits != 8 && bits != 16 && bits != 32 && bits != 64))
                abort();
            if (o.symbol && (o.symbol < operand || o.symbol + o.symbol_length > operand + strlen(operand)))
                abort();
        }
        free(copy);
    }
}

static int visit(const struct usdt_note *note, void *context)
{
    (void)context;
    if (!*note->provider || !*note->name || strpbrk(note->name, " :\x1b"))
        abort();
    parse(note->arguments);
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct stat stat;
    struct elf_file elf;
    int fd = fuzz_file(data, size, &stat);
    if (!elf_file_open(&elf, fd))
        usdt_notes_visit(&elf, visit, NULL);
    elf_file_close(&elf);
    close(fd);
    char *text = strndup((const char *)data, size < 4096 ? size : 4096);
    if (text)
        parse(text);
    free(text);
    return 0;
}
