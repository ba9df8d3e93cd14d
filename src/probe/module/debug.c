/* Opens the debug information of binaries that probes are put into. */
#include "probe/module/debug.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "elf/debug_file.h"
#include "elf/notes.h"

/* Where the debug file of ELF would be by its build id, in TEXT: "" where it has none. */
static const char *looked_for(const struct elf_file *elf, char *text, size_t size)
{
    uint8_t id[BUILD_ID_MAX];
    int length = notes_build_id(elf, id);
    int used =
        length < 2 ? 0 : snprintf(text, size, ", which are looked for as " DEBUG_FILE_ROOT "/.build-id/%02x/", id[0]);
    for (int i = 1; i < length; i++)
        used += snprintf(text + used, size - (size_t)used, "%02x", id[i]);
    snprintf(text + used, size - (size_t)used, "%s", used ? ".debug" : "");
    return text;
}

int debug_open(const struct binary *binary, const char *text, const char *purpose, struct debuginfo **debuginfo,
               struct error *err)
{
    struct binary *debug = NULL, *common = NULL;
    const struct binary *from = binary;
    char file[64 + sizeof DEBUG_FILE_ROOT + 2 * BUILD_ID_MAX];
    if (!debuginfo_is_in(binary_elf(binary)) && binary_open_debug(binary, &debug) == 0)
        from = debug;
    if (binary_open_common(from, &common))
        common = NULL;
    int result = debuginfo_open(debuginfo, binary_elf(from), common ? binary_elf(common) : NULL, true);
    binary_close(common);
    binary_close(debug);
    if (result == -ENODATA)
        return error_set(err, result,
                         "%s: %s has no debug information, %s\ncompile it with -g, or install its debug symbols%s",
                         text, binary_module(binary)->name, purpose, looked_for(binary_elf(binary), file, sizeof file));
    return result < 0 ? error_set(err, result, "%s: cannot read the debug information of %s", text,
                                  binary_module(binary)->name)
                      : 0;
}

int debug_undescribed(struct debuginfo *debuginfo, uint64_t address, const char *text, const char *module,
                      const char *what, struct error *err)
{
    const char *split = debuginfo_split_file(debuginfo, address);
    if (split)
        return error_set(
            err, -EOPNOTSUPP,
            "%s: the debug information of %s is split DWARF (-gsplit-dwarf), that of %s is in %.200s: such "
            "files are not read; build it with -gno-split-dwarf",
            text, module, what, split);
    return error_set(err, -ENOENT, "%s: the debug information of %s does not describe %s; compile its file with -g",
                     text, module, what);
}

/* What is kept, by file. */
struct kept {
    dev_t device;
    ino_t inode;
    struct timespec changed;
    struct debuginfo *debuginfo;
    struct kept *next;
};

int debug_keep(const struct binary *binary, const char *text, const char *purpose, struct debuginfo **debuginfo,
               struct error *err)
{
    static struct kept *all; /* the process's: by file, whatever the run */
    const struct stat *stat = &binary_elf(binary)->stat;
    for (struct kept *one = all; one; one = one->next)
        if (one->device == stat->st_dev && one->inode == stat->st_ino && one->changed.tv_sec == stat->st_mtim.tv_sec &&
            one->changed.tv_nsec == stat->st_mtim.tv_nsec) {
            *debuginfo = one->debuginfo;
            return 0;
        }
    struct kept *new = calloc(1, sizeof *new);
    int result = new ? debug_open(binary, text, purpose, debuginfo, err) : error_set(err, -ENOMEM, "out of memory");
    if (result < 0) {
        free(new);
        return result;
    }
    *new = (struct kept){stat->st_dev, stat->st_ino, stat->st_mtim, *debuginfo, all};
    all = new;
    return 0;
}
