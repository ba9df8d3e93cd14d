/* An ELF file that probes are put into: its functions and their file offsets. */
#include "probe/module/binary.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "arch/arch.h"
#include "elf/debug_file.h"
#include "elf/section.h"
#include "elf/symbol_table.h"
#include "sys/procstat.h"
#include "unwind/call_frames.h"

struct binary {
    int fd;
    struct elf_file elf;
    const struct module *module;
    bool is_go;
};

/* Whether ELF is a program of Go's: its table of functions, or its build's description. */
static bool has_go(const struct elf_file *elf)
{
    return section_find(elf, SHT_NULL, ".gopclntab") || section_find(elf, SHT_NULL, ".go.buildinfo") ||
           section_find(elf, SHT_NULL, ".data.rel.ro.gopclntab");
}

/* Takes FD over. */
static int open_descriptor(int fd, const struct module *module, struct binary **result)
{
    struct binary *binary = calloc(1, sizeof *binary);
    int code = binary ? elf_file_open(&binary->elf, fd) : -ENOMEM;
    if (code < 0) {
        free(binary);
        close(fd);
        return code;
    }
    binary->fd = fd;
    binary->module = module;
    binary->is_go = has_go(&binary->elf);
    *result = binary;
    return 0;
}

/* NULL if ELF is a program or library that can be probed here, else what it is. */
static const char *unsuitable(const struct elf_file *elf)
{
    Elf64_Ehdr header;
    if (elf_file_read(elf, 0, &header, sizeof header) < 0)
        return "it is damaged";
    if (header.e_machine != arch_cpu.elf_machine)
        return "it is for another CPU";
    if (header.e_type != ET_EXEC && header.e_type != ET_DYN)
        return "it is neither a program nor a library";
    if (elf->segment_count == 0)
        return "its program headers are missing or damaged";
    return NULL;
}

/* Why elf_file_open said CODE. */
static const char *unreadable(const char *path, int code)
{
    if (code == -ENOENT && procstat_exited(path))
        return "the process has exited";
    if (code == -EINVAL)
        return "it is not a regular file";
    if (code != -ENOEXEC)
        return error_reason(code);
    unsigned char ident[EI_NIDENT] = {0};
    int fd = elf_file_open_path(-1, path);
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
    int fd = elf_file_open_path(-1, module->path);
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
                          int (*open_one)(const struct elf_file *, const struct debug_file_search *),
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
    struct debug_file_search search = {.root = root, .debug_root = DEBUG_FILE_ROOT, .module = module->name};
    int fd = open_one(&binary->elf, &search);
    if (root >= 0)
        close(root);
    return fd < 0 ? fd : open_descriptor(fd, module, result);
}

int binary_open_debug(const struct binary *binary, struct binary **debug)
{
    return open_companion(binary, debug_file_open, debug);
}

int binary_open_common(const struct binary *binary, struct binary **common)
{
    return open_companion(binary, debug_file_open_common, common);
}

void binary_close(struct binary *binary)
{
    if (!binary)
        return;
    elf_file_close(&binary->elf);
    close(binary->fd);
    free(binary);
}

const struct elf_file *binary_elf(const struct binary *binary)
{
    return &binary->elf;
}

const struct module *binary_module(const struct binary *binary)
{
    return binary->module;
}

size_t binary_read(const struct binary *binary, uint64_t offset, void *buffer, size_t size)
{
    uint64_t end = (uint64_t)binary->elf.stat.st_size;
    if (offset >= end)
        return 0;
    if (size > end - offset)
        size = (size_t)(end - offset);
    return elf_file_read(&binary->elf, offset, buffer, size) == 0 ? size : 0;
}

int binary_offset(const struct binary *binary, uint64_t address, uint64_t *offset)
{
    const Elf64_Phdr *segment = elf_file_segment_at(&binary->elf, address, PF_X);
    return !segment || __builtin_add_overflow(address - segment->p_vaddr, segment->p_offset, offset) ? -ENOENT : 0;
}

/* By a segment of code, or the one that the file begins with. */
bool binary_bias(const struct binary *binary, const struct maps *maps, uint64_t *bias)
{
    const struct elf_file *elf = &binary->elf;
    uint64_t inside = (uint64_t)sysconf(_SC_PAGESIZE) - 1;
    for (size_t s = 0; s < elf->segment_count; s++) {
        const Elf64_Phdr *segment = &elf->segments[s];
        bool code = segment->p_flags & PF_X;
        if (segment->p_type != PT_LOAD || !segment->p_filesz || (!code && segment->p_offset > inside))
            continue;
        for (size_t i = 0; i < maps->count; i++) {
            const struct mapping *mapping = &maps->items[i];
            if (mapping->executable == code && mapping->offset >= (segment->p_offset & ~inside) &&
                mapping->offset <= segment->p_offset + segment->p_filesz &&
                mapping_is_of(mapping, elf->stat.st_dev, elf->stat.st_ino, binary->module->name)) {
                *bias = mapping->start - mapping->offset + segment->p_offset - segment->p_vaddr;
                return true;
            }
        }
    }
    return false;
}

bool binary_is_go(const struct binary *binary)
{
    return binary->is_go;
}

/* 1 if NAME is among the names, each ended by a NUL, or by the '@' of a version, of the symbols in the section of TYPE;
 * 0 if not, also where they cannot be read; -ENOMEM. */
static int has_name(const struct binary *binary, unsigned type, const char *name)
{
    struct symbol_table table;
    size_t length = strlen(name);
    int found = symbol_table_open(&table, &binary->elf, section_find(&binary->elf, type, NULL), SECTION_MAX);
    if (found == 0) {
        char *names = table.names;
        size_t size = table.names_size;
        for (char *at = names; at && !found && (at = memmem(at, size - (size_t)(at - names), name, length)); at++)
            found = (at == names || !at[-1]) && (!at[length] || at[length] == '@');
    }
    symbol_table_close(&table);
    return found < 0 && found != -ENOMEM ? 0 : found;
}

/* The same for each of NAMES, which end with NULL: 1 if there is one of them. */
static int has_one_of(const struct binary *binary, unsigned type, const char *const *names)
{
    int found = 0;
    for (; *names && !found; names++)
        found = has_name(binary, type, *names);
    return found;
}

/* True for a static program that was stripped: nothing in it has a name. */
static bool is_nameless(const struct binary *binary)
{
    const struct elf_file *elf = &binary->elf;
    const Elf64_Shdr *dynamic = section_find(elf, SHT_DYNSYM, NULL);
    return !elf_file_segment(elf, PT_INTERP) && !binary_has_symbols(binary) &&
           (!dynamic || dynamic->sh_size <= sizeof(Elf64_Sym));
}

static int catches(const struct binary *binary)
{
    struct call_frames frames;
    int status = call_frames_read(&frames, &binary->elf, NULL, NULL);
    if (status < 0)
        return status == -ENOMEM ? status : 0;
    bool found = call_frames_catch(&frames, &binary->elf);
    call_frames_free(&frames);
    return found;
}

int binary_has_name(const struct binary *binary, const char *name)
{
    int found = has_name(binary, SHT_DYNSYM, name);
    return found ? found : has_name(binary, SHT_SYMTAB, name);
}

int binary_unwinds(const struct binary *binary)
{
    static const char *const imported[] = {"_Unwind_Resume", "_Unwind_RaiseException", "__cxa_throw", "__cxa_rethrow",
                                           NULL};
    static const char *const *const own = imported + 2;
    if (is_nameless(binary))
        return catches(binary);
    int found = has_one_of(binary, SHT_DYNSYM, imported);
    /* A static program has the unwinder's own functions for the sake of threads that are cancelled. */
    return found ? found : has_one_of(binary, SHT_SYMTAB, own);
}

/* True if ELF is no library: the loader takes its variables before all others. */
static bool is_program(const struct elf_file *elf)
{
    size_t size = 0;
    bool marked = false;
    const Elf64_Shdr *section = section_find(elf, SHT_DYNAMIC, NULL);
    Elf64_Dyn *entries = section ? section_read(elf, section, SECTION_MAX, &size) : NULL;
    for (size_t i = 0; entries && i < size / sizeof *entries && entries[i].d_tag != DT_NULL; i++)
        marked |= entries[i].d_tag == DT_FLAGS_1 && (entries[i].d_un.d_val & DF_1_PIE);
    free(entries);
    return elf->fixed || marked || !section;
}

bool binary_has_place(const struct binary *binary, uint64_t address)
{
    for (size_t i = 0; i < binary->elf.section_count; i++) {
        const Elf64_Shdr *section = &binary->elf.sections[i];
        bool loaded = (section->sh_flags & SHF_ALLOC) && !(section->sh_flags & SHF_TLS);
        if (loaded && address - section->sh_addr < section->sh_size)
            return true;
    }
    return !binary->elf.section_count;
}

bool binary_shares_variable(const struct binary *binary, uint64_t address)
{
    struct symbol_table table;
    bool found = false;
    if (is_program(&binary->elf))
        return false;
    if (!symbol_table_open(&table, &binary->elf, section_find(&binary->elf, SHT_DYNSYM, NULL), SECTION_MAX))
        for (size_t i = 0; i < table.count && !found; i++) {
            const Elf64_Sym *symbol = symbol_table_at(&table, i);
            found = symbol && symbol->st_shndx != SHN_UNDEF && symbol->st_value == address &&
                    ELF64_ST_BIND(symbol->st_info) != STB_LOCAL && symbol->st_other == STV_DEFAULT &&
                    ELF64_ST_TYPE(symbol->st_info) == STT_OBJECT;
        }
    symbol_table_close(&table);
    return found;
}

/* "ELF Handling For Thread-Local Storage", 3.4.6: the program's block ends at the thread pointer. */
bool binary_thread_block(const struct binary *binary, int64_t *offset)
{
    const Elf64_Phdr *block = elf_file_segment(&binary->elf, PT_TLS);
    if (!block || binary->elf.machine != EM_X86_64 || !is_program(&binary->elf) || block->p_memsz > INT32_MAX)
        return false;
    uint64_t align = block->p_align > 1 && block->p_align <= INT32_MAX ? block->p_align : 1;
    *offset = -(int64_t)((block->p_memsz + align - 1) / align * align);
    return true;
}
