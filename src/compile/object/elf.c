/*
 * A generated object as an ELF file, as bpf_linker and bpf_object__open_mem want it: one section per program, its
 * relocations beside it, all names in one .strtab. Source: libbpf's linker.c and libbpf.c, which read it.
 */
#include <errno.h>
#include <gelf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compile/object/object_parts.h"

/* Bytes that grow. Moving them is harmless only until they are given to libelf. */
struct buffer {
    char *data;
    size_t size, room;
};

struct writer {
    const struct object *object;
    Elf *elf;
    int failure;
    struct buffer names;        /* .strtab */
    struct buffer symbols;      /* .symtab */
    struct buffer *relocations; /* of each program; those of a function are kept with the first function's */
    struct buffer text;         /* all functions */
    size_t *sections;           /* of each program */
};

/* SIZE more bytes at the end of BYTES: their offset; -ENOMEM is noted. */
static size_t append(struct writer *writer, struct buffer *bytes, const void *data, size_t size)
{
    size_t offset = bytes->size;
    if (writer->failure)
        return 0;
    if (bytes->size + size > bytes->room) {
        size_t room = (bytes->size + size) * 2;
        char *grown = realloc(bytes->data, room);
        if (!grown) {
            writer->failure = -ENOMEM;
            return 0;
        }
        bytes->data = grown;
        bytes->room = room;
    }
    memcpy(bytes->data + bytes->size, data, size);
    bytes->size += size;
    return offset;
}

static uint32_t add_name(struct writer *writer, const char *name)
{
    return (uint32_t)append(writer, &writer->names, name, strlen(name) + 1);
}

/* Index of a new global symbol. */
static uint32_t add_symbol(struct writer *writer, const char *name, int type, size_t section, uint64_t value,
                           uint64_t size)
{
    Elf64_Sym symbol = {
        .st_name = add_name(writer, name),
        .st_info = ELF64_ST_INFO(STB_GLOBAL, type),
        .st_shndx = (uint16_t)section,
        .st_value = value,
        .st_size = size,
    };
    return (uint32_t)(append(writer, &writer->symbols, &symbol, sizeof symbol) / sizeof symbol);
}

/* Index of the symbol NAME of TYPE; 0 if there is none. */
static uint32_t find_symbol(const struct writer *writer, const char *name, int type)
{
    const Elf64_Sym *symbols = (const void *)writer->symbols.data;
    for (uint32_t i = 1; i < writer->symbols.size / sizeof *symbols; i++)
        if (ELF64_ST_TYPE(symbols[i].st_info) == type && !strcmp(writer->names.data + symbols[i].st_name, name))
            return i;
    return 0;
}

/* The symbol that REFERENCE names, 0 if there is none: one of the library is declared by the first reference to it. */
static uint32_t referenced_symbol(struct writer *writer, const struct object_reference *reference)
{
    bool is_library = reference->kind == REFERENCE_LIBRARY;
    bool is_function = reference->kind == REFERENCE_FUNCTION || reference->kind == REFERENCE_CALL;
    int type = is_library ? STT_NOTYPE : is_function ? STT_FUNC : STT_OBJECT;
    uint32_t symbol = find_symbol(writer, reference->symbol, type);
    return symbol || !is_library ? symbol : add_symbol(writer, reference->symbol, type, SHN_UNDEF, 0, 0);
}

struct section {
    const char *name;
    uint32_t type;
    uint64_t flags;
    const void *data;
    size_t size;
    uint64_t align, entry_size;
    uint32_t link, info;
};

/* Appends a section: its index. DATA must live until the file is written. The first failure sticks: libelf cannot go on
 * behind one of its own. */
static size_t add_section(struct writer *writer, const struct section *section)
{
    if (writer->failure)
        return 0;
    elf_errno(); /* forgets what was wrong before */
    Elf_Scn *scn = elf_newscn(writer->elf);
    GElf_Shdr header;
    /* Where libelf has no memory for a section's header, it returns a section all the same, which is not set up. */
    Elf_Data *data = scn && !elf_errno() && gelf_getshdr(scn, &header) ? elf_newdata(scn) : NULL;
    if (!data) {
        writer->failure = -ENOMEM;
        return 0;
    }
    data->d_buf = (void *)section->data;
    data->d_size = section->size;
    data->d_align = section->align; /* libelf puts the file together by this, readers trust sh_addralign */
    data->d_type = section->type == SHT_SYMTAB ? ELF_T_SYM : section->type == SHT_REL ? ELF_T_REL : ELF_T_BYTE;
    header.sh_name = add_name(writer, section->name);
    header.sh_type = section->type;
    header.sh_flags = section->flags;
    header.sh_addralign = section->align;
    header.sh_entsize = section->entry_size;
    header.sh_link = section->link;
    header.sh_info = section->info;
    if (!gelf_update_shdr(scn, &header))
        writer->failure = -EIO;
    return elf_ndxscn(scn);
}

/* Appends a section of the program's: its index. DATA is NULL where all is zero. */
static size_t add_bytes(struct writer *writer, const char *name, uint64_t flags, const void *data, size_t size)
{
    return add_section(writer, &(struct section){.name = name,
                                                 .type = data ? SHT_PROGBITS : SHT_NOBITS,
                                                 .flags = SHF_ALLOC | flags,
                                                 .data = data,
                                                 .size = size,
                                                 .align = 8});
}

/* The section of all functions, whose symbols are hidden: libbpf tells the kernel then that they are static. */
static size_t add_functions(struct writer *writer)
{
    const struct object *object = writer->object;
    for (size_t i = 0; i < object->program_count; i++)
        if (!object->programs[i].section)
            append(writer, &writer->text, object->programs[i].instructions,
                   object->programs[i].instruction_count * sizeof(struct bpf_insn));
    return writer->text.size ? add_bytes(writer, ".text", SHF_EXECINSTR, writer->text.data, writer->text.size) : 0;
}

static void add_programs(struct writer *writer)
{
    size_t functions = add_functions(writer);
    for (size_t i = 0; i < writer->object->program_count; i++) {
        const struct object_program *program = &writer->object->programs[i];
        size_t size = program->instruction_count * sizeof(struct bpf_insn), section = functions;
        if (program->section)
            section = add_bytes(writer, program->section, SHF_EXECINSTR, program->instructions, size);
        writer->sections[i] = section;
        uint32_t symbol =
            add_symbol(writer, program->name, STT_FUNC, section, object_offset(writer->object, program), size);
        if (!program->section && !writer->failure)
            ((Elf64_Sym *)(void *)writer->symbols.data)[symbol].st_other = STV_HIDDEN;
    }
}

/* ZEROES: as many as the maps' definitions, whose meaning is in their types alone. */
static void add_maps(struct writer *writer, const void *zeroes)
{
    const struct object *object = writer->object;
    if (!object->map_count)
        return;
    size_t section = add_bytes(writer, ".maps", SHF_WRITE, zeroes, object->map_count * MAP_DEFINITION_SIZE);
    for (size_t i = 0; i < object->map_count; i++)
        add_symbol(writer, object->maps[i].name, STT_OBJECT, section, i * MAP_DEFINITION_SIZE, MAP_DEFINITION_SIZE);
}

static void add_counters(struct writer *writer)
{
    const struct object *object = writer->object;
    if (!object->counters_count)
        return;
    size_t section = add_bytes(writer, ".bss", SHF_WRITE, NULL, object->bss_size);
    for (size_t i = 0; i < object->counters_count; i++)
        add_symbol(writer, object->counters[i].name, STT_OBJECT, section, object->counters[i].offset,
                   object->counters[i].count * sizeof(uint64_t));
}

static void add_variables(struct writer *writer)
{
    static uint64_t zeros[MAX_VARIABLE / sizeof(uint64_t)];
    for (size_t i = 0; i < writer->object->variable_count; i++) {
        const struct object_variable *variable = &writer->object->variables[i];
        size_t section = add_bytes(writer, variable->section, SHF_WRITE, zeros, variable->size);
        add_symbol(writer, variable->name, STT_OBJECT, section, 0, variable->size);
    }
}

static void collect_relocations(struct writer *writer, struct error *err)
{
    struct buffer *functions = NULL;
    for (size_t i = 0; i < writer->object->program_count; i++) {
        const struct object_program *program = &writer->object->programs[i];
        struct buffer *relocations = &writer->relocations[i];
        if (!program->section)
            relocations = functions = functions ? functions : relocations;
        for (size_t k = 0; k < program->reference_count; k++) {
            const struct object_reference *reference = &program->references[k];
            if (reference->kind == REFERENCE_KERNEL)
                continue;
            uint32_t symbol = referenced_symbol(writer, reference);
            if (!symbol && !writer->failure)
                writer->failure =
                    error_set(err, -ENOENT, "program %s refers to %s, which its object lacks: this is a bug of uplua",
                              program->name, reference->symbol);
            bool call = reference->kind == REFERENCE_LIBRARY || reference->kind == REFERENCE_CALL;
            Elf64_Rel relocation = {
                .r_offset = object_offset(writer->object, program) + reference->instruction * sizeof(struct bpf_insn),
                .r_info = ELF64_R_INFO((uint64_t)symbol, (uint64_t)(call ? R_BPF_64_32 : R_BPF_64_64)),
            };
            append(writer, relocations, &relocation, sizeof relocation);
        }
    }
}

static void add_relocations(struct writer *writer, size_t symbol_section)
{
    for (size_t i = 0; i < writer->object->program_count && !writer->failure; i++) {
        if (!writer->relocations[i].size)
            continue;
        char name[256];
        snprintf(name, sizeof name, ".rel%s", object_section(&writer->object->programs[i]));
        add_section(writer, &(struct section){.name = name,
                                              .type = SHT_REL,
                                              .flags = SHF_INFO_LINK,
                                              .data = writer->relocations[i].data,
                                              .size = writer->relocations[i].size,
                                              .align = 8,
                                              .entry_size = sizeof(Elf64_Rel),
                                              .link = (uint32_t)symbol_section,
                                              .info = (uint32_t)writer->sections[i]});
    }
}

static void add_types(struct writer *writer, const struct btf *types, const void *extension, uint32_t extension_size)
{
    uint32_t size;
    const void *data = btf__raw_data(types, &size);
    if (!data) {
        writer->failure = -ENOMEM;
        return;
    }
    add_section(writer,
                &(struct section){.name = ".BTF", .type = SHT_PROGBITS, .data = data, .size = size, .align = 4});
    add_section(writer,
                &(struct section){
                    .name = ".BTF.ext", .type = SHT_PROGBITS, .data = extension, .size = extension_size, .align = 4});
}

/* The string table comes last, since every section adds its name. */
static void add_strings(struct writer *writer, size_t symbol_section)
{
    size_t section = add_section(writer, &(struct section){.name = ".strtab", .type = SHT_STRTAB, .align = 1});
    if (writer->failure)
        return;
    Elf_Data *data = elf_getdata(elf_getscn(writer->elf, section), NULL);
    data->d_buf = writer->names.data;
    data->d_size = writer->names.size;
    GElf_Shdr header;
    Elf_Scn *symbols = elf_getscn(writer->elf, symbol_section);
    if (!gelf_getshdr(symbols, &header))
        writer->failure = -EIO;
    header.sh_link = (uint32_t)section;
    gelf_update_shdr(symbols, &header);
    elf64_getehdr(writer->elf)->e_shstrndx = (uint16_t)section;
}

static void write_sections(struct writer *writer, const struct btf *types, const void *extension,
                           uint32_t extension_size, const void *zeroes, struct error *err)
{
    const Elf64_Sym none = {0};
    append(writer, &writer->names, "", 1);
    append(writer, &writer->symbols, &none, sizeof none);
    add_programs(writer);
    add_maps(writer, zeroes);
    add_counters(writer);
    add_variables(writer);
    collect_relocations(writer, err);
    add_section(writer, &(struct section){.name = "license",
                                          .type = SHT_PROGBITS,
                                          .flags = SHF_ALLOC | SHF_WRITE,
                                          .data = "GPL",
                                          .size = 4,
                                          .align = 1});
    add_types(writer, types, extension, extension_size);
    size_t symbol_section = add_section(writer, &(struct section){.name = ".symtab",
                                                                  .type = SHT_SYMTAB,
                                                                  .data = writer->symbols.data,
                                                                  .size = writer->symbols.size,
                                                                  .align = 8,
                                                                  .entry_size = sizeof(Elf64_Sym),
                                                                  .info = 1}); /* the first global symbol */
    add_relocations(writer, symbol_section);
    add_strings(writer, symbol_section);
    if (!writer->failure && elf_update(writer->elf, ELF_C_WRITE) < 0)
        writer->failure = error_set(err, -EIO, "cannot write the BPF object: %s", elf_errmsg(-1));
}

static int begin(struct writer *writer, int fd)
{
    if (elf_version(EV_CURRENT) == EV_NONE || !(writer->elf = elf_begin(fd, ELF_C_WRITE, NULL)))
        return -EIO;
    Elf64_Ehdr *header = elf64_newehdr(writer->elf);
    if (!header)
        return -ENOMEM;
    header->e_ident[EI_DATA] = __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__ ? ELFDATA2MSB : ELFDATA2LSB;
    header->e_type = ET_REL;
    header->e_machine = EM_BPF;
    header->e_version = EV_CURRENT;
    return 0;
}

int object_write(const struct object *object, const struct btf *library, int fd, struct error *err)
{
    struct btf *types;
    void *extension;
    uint32_t extension_size;
    int code = object_types(object, library, &types, &extension, &extension_size, err);
    if (code)
        return code;
    if (err)
        err->code = 0;
    struct writer writer = {.object = object};
    writer.sections = calloc(object->program_count + 1, sizeof *writer.sections);
    writer.relocations = calloc(object->program_count + 1, sizeof *writer.relocations);
    void *zeroes = calloc(object->map_count + 1, MAP_DEFINITION_SIZE);
    if (!writer.sections || !writer.relocations || !zeroes)
        writer.failure = -ENOMEM;
    else
        writer.failure = begin(&writer, fd);
    if (!writer.failure)
        write_sections(&writer, types, extension, extension_size, zeroes, err);
    if (writer.failure && err && !err->code)
        error_set(err, writer.failure, "cannot write the BPF object: %s", error_reason(writer.failure));

    elf_end(writer.elf);
    for (size_t i = 0; writer.relocations && i < object->program_count; i++)
        free(writer.relocations[i].data);
    free(zeroes);
    free(writer.relocations);
    free(writer.sections);
    free(writer.text.data);
    free(writer.symbols.data);
    free(writer.names.data);
    free(extension);
    btf__free(types);
    return writer.failure;
}
