/* Call frame information of any ELF file, made into an unwind table. */
#include "fuzz.h"
#include "unwind/call_frames.h"
#include "unwind/table.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct stat stat;
    struct elf_file elf;
    struct unwind_rules rules;
    struct unwind_table table;
    struct error err = {0};
    int fd = fuzz_file(data, size, &stat);
    if (unwind_rules_init(&rules))
        abort();
    if (!elf_file_open(&elf, fd) && !unwind_table_build(&table, &elf, NULL, &rules, &err)) {
        for (uint32_t i = 0; i < table.row_count; i++) {
            uint64_t offset;
            uint32_t rule = unwind_table_row(&table, i, &offset);
            if (rule >= rules.count || unwind_table_find(&table, offset) != rule)
                abort();
        }
        unwind_table_free(&table);
    }
    struct call_frames frames;
    if (!call_frames_read(&frames, &elf, NULL, &err)) {
        call_frames_catch(&frames, &elf);
        call_frames_free(&frames);
    }
    elf_file_close(&elf);
    unwind_rules_free(&rules);
    close(fd);
    return 0;
}
