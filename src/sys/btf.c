/* Reads the kernel's own type information, without libbpf. */
#include "sys/btf.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sys/btf_sections.h"

#define KERNEL_BTF "/sys/kernel/btf/vmlinux"
enum { MAX_BTF = 1 << 28 }; /* today's are 5 to 10 MB */

ptrdiff_t btf_extra_bytes(const struct btf_type *type)
{
    unsigned vlen = BTF_INFO_VLEN(type->info);
    switch (BTF_INFO_KIND(type->info)) {
    case BTF_KIND_INT:
    case BTF_KIND_VAR:
    case BTF_KIND_DECL_TAG:
        return 4;
    case BTF_KIND_ARRAY:
        return sizeof(struct btf_array);
    case BTF_KIND_STRUCT:
    case BTF_KIND_UNION:
        return (ptrdiff_t)(vlen * sizeof(struct btf_member));
    case BTF_KIND_ENUM:
        return (ptrdiff_t)(vlen * sizeof(struct btf_enum));
    case BTF_KIND_ENUM64:
        return (ptrdiff_t)(vlen * 12); /* struct btf_enum64 */
    case BTF_KIND_FUNC_PROTO:
        return (ptrdiff_t)(vlen * sizeof(struct btf_param));
    case BTF_KIND_DATASEC:
        return (ptrdiff_t)(vlen * sizeof(struct btf_var_secinfo));
    case BTF_KIND_PTR:
    case BTF_KIND_FWD:
    case BTF_KIND_TYPEDEF:
    case BTF_KIND_VOLATILE:
    case BTF_KIND_CONST:
    case BTF_KIND_RESTRICT:
    case BTF_KIND_FUNC:
    case BTF_KIND_FLOAT:
    case BTF_KIND_TYPE_TAG:
        return 0;
    default:
        return -1;
    }
}

uint32_t btf_find_string(const struct kernel_btf *btf, const char *string)
{
    size_t length = strlen(string) + 1;
    const char *end = btf->strings + btf->strings_size;
    for (const char *s = btf->strings; s < end;) { /* the kernel's strings are unique */
        s = memmem(s, (size_t)(end - s), string, length);
        if (!s)
            return 0;
        if (s > btf->strings && s[-1] == '\0')
            return (uint32_t)(s - btf->strings);
        s++;
    }
    return 0;
}

const char *btf_string(const struct kernel_btf *btf, uint32_t offset)
{
    return offset < btf->strings_size ? btf->strings + offset : "";
}

static int open_sections(const uint8_t *bytes, size_t size, struct kernel_btf *result)
{
    const struct btf_header *header = (const void *)bytes;
    if (size < sizeof *header || header->magic != BTF_MAGIC || header->hdr_len > size)
        return -EINVAL;
    const uint8_t *data = bytes + header->hdr_len;
    size_t left = size - header->hdr_len;
    if (header->type_off > left || header->type_len > left - header->type_off || header->str_off > left ||
        header->str_len > left - header->str_off || header->type_off % 4 || header->hdr_len % 4 || !header->str_len ||
        data[header->str_off + header->str_len - 1])
        return -EINVAL;
    result->types = data + header->type_off;
    result->types_end = result->types + header->type_len;
    result->strings = (const char *)data + header->str_off;
    result->strings_size = header->str_len;
    return 0;
}

const struct btf_type *btf_next(const struct kernel_btf *btf, const struct btf_type *type)
{
    ptrdiff_t extra = btf_extra_bytes(type);
    const uint8_t *next = (const uint8_t *)(type + 1);
    if (extra < 0 || extra > btf->types_end - next)
        return NULL;
    next += extra;
    return (size_t)(btf->types_end - next) >= sizeof *type ? (const struct btf_type *)next : NULL;
}

const struct btf_type *btf_first(const struct kernel_btf *btf)
{
    size_t size = (size_t)(btf->types_end - btf->types);
    const struct btf_type *first = (const void *)btf->types;
    ptrdiff_t extra = size < sizeof *first ? -1 : btf_extra_bytes(first);
    return extra >= 0 && (size_t)extra <= size - sizeof *first ? first : NULL;
}

/* True if what belongs to TYPE, the last one, lies in the section. */
static bool is_whole(const struct kernel_btf *btf, const struct btf_type *type)
{
    ptrdiff_t extra = btf_extra_bytes(type);
    return extra >= 0 && extra <= btf->types_end - (const uint8_t *)(type + 1);
}

const struct btf_type **btf_index(const struct kernel_btf *btf, size_t *count)
{
    size_t capacity = (size_t)(btf->types_end - btf->types) / sizeof(struct btf_type) + 2;
    const struct btf_type **types = calloc(capacity, sizeof *types);
    *count = 1;
    for (const struct btf_type *type = types ? btf_first(btf) : NULL; type && is_whole(btf, type);
         type = btf_next(btf, type))
        types[(*count)++] = type;
    return types;
}

static int find_function(const struct kernel_btf *btf, void *name)
{
    uint32_t name_offset = btf_find_string(btf, name);
    if (!name_offset)
        return -ENOENT;
    int id = 1;
    for (const struct btf_type *type = btf_first(btf); type; type = btf_next(btf, type), id++)
        if (BTF_INFO_KIND(type->info) == BTF_KIND_FUNC && type->name_off == name_offset)
            return id;
    return -ENOENT;
}

static bool is_structure(const struct btf_type *type)
{
    unsigned kind = BTF_INFO_KIND(type->info);
    return kind == BTF_KIND_STRUCT || kind == BTF_KIND_UNION;
}

/* Bytes from the start of STRUCTURE to its member NAME; -1 where it has none. TYPES: all types by their ids. */
static int64_t member_offset(const struct kernel_btf *btf, const struct btf_type *const *types, size_t count,
                             const struct btf_type *structure, const char *name, int depth)
{
    enum { DEEPEST = 8 };
    const struct btf_member *members = (const void *)(structure + 1);
    for (unsigned i = 0; i < BTF_INFO_VLEN(structure->info); i++) {
        uint32_t bits = BTF_INFO_KFLAG(structure->info) ? BTF_MEMBER_BIT_OFFSET(members[i].offset) : members[i].offset;
        if (!strcmp(btf_string(btf, members[i].name_off), name))
            return bits / 8;
        const struct btf_type *inner = members[i].type < count ? types[members[i].type] : NULL;
        if (members[i].name_off || !inner || !is_structure(inner) || depth == DEEPEST)
            continue;
        int64_t offset = member_offset(btf, types, count, inner, name, depth + 1);
        if (offset >= 0)
            return offset + bits / 8;
    }
    return -1;
}

struct wanted_fields {
    struct kernel_field *fields;
    size_t count;
};

static int find_fields(const struct kernel_btf *btf, void *context)
{
    const struct wanted_fields *wanted = context;
    size_t count, found = 0;
    const struct btf_type **types = btf_index(btf, &count);
    if (!types)
        return -ENOMEM;
    for (size_t i = 0; i < wanted->count; i++)
        wanted->fields[i].offset = UINT32_MAX;
    for (size_t id = 1; id < count; id++) {
        if (BTF_INFO_KIND(types[id]->info) != BTF_KIND_STRUCT)
            continue;
        const char *name = btf_string(btf, types[id]->name_off);
        for (size_t i = 0; i < wanted->count; i++) {
            struct kernel_field *field = &wanted->fields[i];
            if (field->offset != UINT32_MAX || *field->type != *name || strcmp(field->type, name))
                continue;
            int64_t offset = member_offset(btf, types, count, types[id], field->name, 0);
            if (offset >= 0) {
                field->offset = (uint32_t)offset;
                found++;
            }
        }
    }
    free(types);
    return found == wanted->count ? 0 : -ENOENT;
}

/* Before 6.16 the file cannot be mapped. */
static uint8_t *read_whole(int fd, size_t *size)
{
    uint8_t *btf = malloc(*size);
    size_t have = 0;
    while (btf && have < *size) {
        ssize_t n = read(fd, btf + have, *size - have);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            break;
        have += (size_t)n;
    }
    *size = have;
    return btf;
}

int btf_open(struct kernel_btf *btf)
{
    int fd = open(KERNEL_BTF, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    struct stat st;
    *btf = (struct kernel_btf){0};
    int result = fstat(fd, &st) < 0 ? -errno : st.st_size <= 0 || st.st_size > MAX_BTF ? -EINVAL : 0;
    if (!result) {
        size_t size = btf->mapped_size = (size_t)st.st_size;
        btf->mapped = mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0);
        if (btf->mapped == MAP_FAILED) {
            btf->mapped = NULL;
            btf->copy = read_whole(fd, &size);
        }
        result = !btf->mapped && !btf->copy ? -ENOMEM : open_sections(btf->copy ? btf->copy : btf->mapped, size, btf);
    }
    close(fd);
    if (result)
        btf_close(btf);
    return result;
}

void btf_close(struct kernel_btf *btf)
{
    if (btf->mapped)
        munmap(btf->mapped, btf->mapped_size);
    free(btf->copy);
    *btf = (struct kernel_btf){0};
}

/* What FIND makes of the file and CONTEXT. */
static int with_kernel_btf(int (*find)(const struct kernel_btf *btf, void *context), void *context)
{
    struct kernel_btf btf;
    int result = btf_open(&btf);
    if (result)
        return result;
    result = find(&btf, context);
    btf_close(&btf);
    return result;
}

int kernel_btf_function(const char *name)
{
    return with_kernel_btf(find_function, (char *)name);
}

int kernel_btf_fields(struct kernel_field *fields, size_t count)
{
    return with_kernel_btf(find_fields, &(struct wanted_fields){fields, count});
}
