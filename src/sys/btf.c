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
#include "sys/path.h"

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
    const uint8_t *at = type ? (const uint8_t *)(type + 1) + btf_extra_bytes(type) : btf->types;
    size_t left = (size_t)(btf->types_end - at);
    const struct btf_type *next = (const void *)at;
    ptrdiff_t extra = left < sizeof *next ? -1 : btf_extra_bytes(next);
    return extra >= 0 && (size_t)extra <= left - sizeof *next ? next : NULL;
}

int btf_index(struct kernel_btf *btf)
{
    size_t most = (size_t)(btf->types_end - btf->types) / sizeof(struct btf_type);
    btf->marks = malloc((most / BTF_MARKED + 1) * sizeof *btf->marks);
    if (!btf->marks)
        return -ENOMEM;
    btf->count = 1;
    for (const struct btf_type *type = NULL; (type = btf_next(btf, type)); btf->count++)
        if (btf->count % BTF_MARKED == 1)
            btf->marks[btf->count / BTF_MARKED] = (uint32_t)((const uint8_t *)type - btf->types);
    return 0;
}

const struct btf_type *btf_type(const struct kernel_btf *btf, uint32_t id)
{
    if (!id || id >= btf->count)
        return NULL;
    const struct btf_type *type = (const void *)(btf->types + btf->marks[(id - 1) / BTF_MARKED]);
    for (uint32_t left = (id - 1) % BTF_MARKED; left; left--)
        type = btf_next(btf, type);
    return type;
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
        if (btf->mapped == MAP_FAILED) { /* before 6.16 */
            btf->mapped = NULL;
            btf->copy = (uint8_t *)path_read_all(fd, size, &size);
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
    free(btf->marks);
    *btf = (struct kernel_btf){0};
}

int kernel_btf_function(const char *name)
{
    struct kernel_btf btf;
    int result = btf_open(&btf), id = 1;
    if (result)
        return result;
    uint32_t string = btf_find_string(&btf, name);
    const struct btf_type *type = string ? btf_next(&btf, NULL) : NULL;
    for (; type && (BTF_INFO_KIND(type->info) != BTF_KIND_FUNC || type->name_off != string); id++)
        type = btf_next(&btf, type);
    btf_close(&btf);
    return type ? id : -ENOENT;
}
