/* An ELF file that probes are put into: its functions and their file offsets. */
#include "probe/module/binary.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "arch/arch.h"
#include "elf/debugfile.h"
#include "sys/procstat.h"
#include "unwind/call_frames.h"

/* A browser's .symtab is 200 MB. */
#define MAX_SECTION (UINT64_C(1) << 30)

struct binary {
    int fd;
    struct elffile elf;
    const struct module *module;
};

/* Takes FD over. */
static int open_descriptor(int fd, const struct module *module, struct binary **result)
{
    struct binary *binary = calloc(1, sizeof *binary);
    int code = binary ? elffile_open(&binary->elf, fd) : -ENOMEM;
    if (code < 0) {
        free(binary);
        close(fd);
        return code;
    }
    binary->fd = fd;
    binary->module = module;
    *result = binary;
    return 0;
}

/* NULL if ELF is a program or library that can be probed here, else what it is. */
static const char *unsuitable(const struct elffile *elf)
{
    Elf64_Ehdr header;
    if (elffile_read(elf, 0, &header, sizeof header) < 0)
        return "it is damaged";
    if (header.e_machine != arch_elf_machine())
        return "it is for another CPU";
    if (header.e_type != ET_EXEC && header.e_type != ET_DYN)
        return "it is neither a program nor a library";
    if (elf->segment_count == 0)
        return "its program headers are missing or damaged";
    return NULL;
}

/* Why elffile_open said CODE. */
static const char *unreadable(const char *path, int code)
{
    if (code == -ENOENT && procstat_exited(path))
        return "the process has exited";
    if (code == -EINVAL)
        return "it is not a regular file";
    if (code != -ENOEXEC)
        return strerror(-code);
    unsigned char ident[EI_NIDENT] = {0};
    int fd = elffile_open_path(-1, path);
    ssize_t n = fd < 0 ? -1 : pread(fd, ident, sizeof ident, 0);
    if (fd >= 0)
        close(fd);
    if (n == (ssize_t)sizeof ident && memcmp(ident, ELFMAG, SELFMAG) == 0)
        return ident[EI_CLASS] == ELFCLASS32 ? "it is a 32-bit file; uplua traces 64-bit programs"
                                             : "it is for another CPU";
    return "it is not an ELF program or library";
}

int binary_open(const struct module *module, struct binary **binary, struct error *err)
{
    *binary = NULL;
    int fd = elffile_open_path(-1, module->path);
    int result = fd < 0 ? fd : open_descriptor(fd, module, binary);
    if (result < 0)
        return error_set(err, result, "cannot probe %s: %s", module->name, unreadable(module->path, result));
    const char *why = unsuitable(&(*binary)->elf);
    if (why) {
        binary_close(*binary);
        *binary = NULL;
        return error_set(err, -ENOEXEC, "cannot probe %s: %s", module->name, why);
    }
    return 0;
}

/* Has OPEN_ONE search for a file that belongs to BINARY, in the root of the process that it was opened for. */
static int open_companion(const struct binary *binary,
                          int (*open_one)(const struct elffile *, const struct debugfile_search *),
                          struct binary **result)
{
    /* Everything before the name is the process's root: /proc/PID/root. */
    const struct module *module = binary->module;
    size_t path = strlen(module->path), name = strlen(module->name);
    int root = -1;
    if (path > name && strcmp(module->path + path - name, module->name) == 0) {
        char *prefix = strndup(module->path, path - name);
        if (!prefix)
            return -ENOMEM;
        root = open(prefix, O_PATH | O_DIRECTORY | O_CLOEXEC);
        free(prefix);
    }
    struct debugfile_search search = {.root = root, .debug_root = DEBUGFILE_ROOT, .module = module->name};
    int fd = open_one(&binary->elf, &search);
    if (root >= 0)
        close(root);
    return fd < 0 ? fd : open_descriptor(fd, module, result);
}

int binary_open_debug(const struct binary *binary, struct binary **debug)
{
    return open_companion(binary, debugfile_open, debug);
}

int binary_open_common(const struct binary *binary, struct binary **common)
{
    return open_companion(binary, debugfile_open_common, common);
}

void binary_close(struct binary *binary)
{
    if (!binary)
        return;
    elffile_close(&binary->elf);
    close(binary->fd);
    free(binary);
}

const struct elffile *binary_elf(const struct binary *binary)
{
    return &binary->elf;
}

const struct module *binary_module(const struct binary *binary)
{
    return binary->module;
}

void *binary_section(const struct binary *binary, const Elf64_Shdr *section, size_t *size)
{
    /* The size is a claim of the file: it must fit there before it is allocated. */
    if (!section || section->sh_type == SHT_NOBITS || section->sh_size > MAX_SECTION ||
        section->sh_size > (uint64_t)binary->elf.stat.st_size)
        return NULL;
    char *bytes = malloc((size_t)section->sh_size + 1);
    if (!bytes)
        return NULL;
    if (elffile_read(&binary->elf, section->sh_offset, bytes, (size_t)section->sh_size) < 0) {
        free(bytes);
        return NULL;
    }
    bytes[section->sh_size] = '\0';
    *size = (size_t)section->sh_size;
    return bytes;
}

size_t binary_read(const struct binary *binary, uint64_t offset, void *buffer, size_t size)
{
    uint64_t end = (uint64_t)binary->elf.stat.st_size;
    if (offset >= end)
        return 0;
    if (size > end - offset)
        size = (size_t)(end - offset);
    return elffile_read(&binary->elf, offset, buffer, size) == 0 ? size : 0;
}

int binary_offset(const struct binary *binary, uint64_t address, uint64_t *offset)
{
    for (size_t i = 0; i < binary->elf.segment_count; i++) {
        const Elf64_Phdr *segment = &binary->elf.segments[i];
        if (segment->p_type == PT_LOAD && (segment->p_flags & PF_X) && address >= segment->p_vaddr &&
            address - segment->p_vaddr < segment->p_filesz)
            return __builtin_add_overflow(address - segment->p_vaddr, segment->p_offset, offset) ? -ENOENT : 0;
    }
    return -ENOENT;
}

bool binary_is_go(const struct binary *binary)
{
    const struct elffile *elf = &binary->elf;
    return elffile_section(elf, SHT_NULL, ".gopclntab") || elffile_section(elf, SHT_NULL, ".go.buildinfo") ||
           elffile_section(elf, SHT_NULL, ".data.rel.ro.gopclntab");
}

/* True if NAME is among the names, each ended by a NUL, or by the '@' of a version, of the symbols in the section of
 * TYPE. */
static bool has_name(const struct binary *binary, unsigned type, const char *name)
{
    const struct elffile *elf = &binary->elf;
    const Elf64_Shdr *section = elffile_section(elf, type, NULL);
    size_t size = 0, length = strlen(name);
    char *names = section && section->sh_link < elf->section_count
                      ? binary_section(binary, &elf->sections[section->sh_link], &size)
                      : NULL;
    bool found = false;
    for (char *at = names; at && !found && (at = memmem(at, size - (size_t)(at - names), name, length)); at++)
        found = (at == names || !at[-1]) && (!at[length] || at[length] == '@');
    free(names);
    return found;
}

/* True for a static program that was stripped: nothing in it has a name. */
static bool is_nameless(const struct binary *binary)
{
    const struct elffile *elf = &binary->elf;
    const Elf64_Shdr *dynamic = elffile_section(elf, SHT_DYNSYM, NULL);
    bool loaded = false;
    for (size_t i = 0; i < elf->segment_count; i++)
        loaded |= elf->segments[i].p_type == PT_INTERP;
    return !loaded && !binary_has_symbols(binary) && (!dynamic || dynamic->sh_size <= sizeof(Elf64_Sym));
}

static bool catches(const struct binary *binary)
{
    struct call_frames frames;
    if (call_frames_read(&frames, &binary->elf, NULL, NULL) < 0)
        return false;
    bool found = call_frames_catch(&frames, &binary->elf);
    call_frames_free(&frames);
    return found;
}

bool binary_has_name(const struct binary *binary, const char *name)
{
    return has_name(binary, SHT_DYNSYM, name) || has_name(binary, SHT_SYMTAB, name);
}

bool binary_unwinds(const struct binary *binary)
{
    if (is_nameless(binary))
        return catches(binary);
    /* A static program has the unwinder's own functions for the sake of threads that are cancelled. */
    return has_name(binary, SHT_DYNSYM, "_Unwind_Resume") || has_name(binary, SHT_DYNSYM, "_Unwind_RaiseException") ||
           has_name(binary, SHT_DYNSYM, "__cxa_throw") || has_name(binary, SHT_DYNSYM, "__cxa_rethrow") ||
           has_name(binary, SHT_SYMTAB, "__cxa_throw") || has_name(binary, SHT_SYMTAB, "__cxa_rethrow");
}
