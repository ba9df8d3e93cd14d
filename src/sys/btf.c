#include "sys/btf.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/btf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define KERNEL_BTF "/sys/kernel/btf/vmlinux"
enum { MAX_BTF = 1 << 28 }; /* today's are 5 to 10 MB */

/* Bytes that follow the struct btf_type of a type with KIND and VLEN; -1 for a kind that we do not know. */
static ptrdiff_t extra_bytes(unsigned kind, unsigned vlen)
{
    switch (kind) {
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

/* Offset of NAME among SIZE bytes of NUL-terminated strings, or 0. The kernel's strings are unique. */
static uint32_t find_string(const char *strings, size_t size, const char *name)
{
    size_t length = strlen(name) + 1;
    const char *end = strings + size;
    for (const char *s = strings; s < end;) {
        s = memmem(s, (size_t)(end - s), name, length);
        if (!s)
            return 0;
        if (s > strings && s[-1] == '\0')
            return (uint32_t)(s - strings);
        s++;
    }
    return 0;
}

static int find_function(const uint8_t *btf, size_t size, const char *name)
{
    const struct btf_header *header = (const void *)btf;
    if (size < sizeof *header || header->magic != BTF_MAGIC || header->hdr_len > size)
        return -EINVAL;
    const uint8_t *data = btf + header->hdr_len;
    size_t left = size - header->hdr_len;
    if (header->type_off > left || header->type_len > left - header->type_off || header->str_off > left ||
        header->str_len > left - header->str_off || header->type_off % 4 || header->hdr_len % 4)
        return -EINVAL;

    uint32_t name_offset = find_string((const char *)data + header->str_off, header->str_len, name);
    if (!name_offset)
        return -ENOENT;
    const uint8_t *type = data + header->type_off, *end = type + header->type_len;
    for (int id = 1; (size_t)(end - type) >= sizeof(struct btf_type); id++) {
        const struct btf_type *t = (const void *)type;
        unsigned kind = BTF_INFO_KIND(t->info);
        if (kind == BTF_KIND_FUNC && t->name_off == name_offset)
            return id;
        ptrdiff_t extra = extra_bytes(kind, BTF_INFO_VLEN(t->info));
        type += sizeof *t;
        if (extra < 0 || extra > end - type)
            return -EINVAL;
        type += extra;
    }
    return -ENOENT;
}

/* Before 6.16 the file cannot be mapped. */
static int find_by_reading(int fd, size_t size, const char *name)
{
    uint8_t *btf = malloc(size);
    if (!btf)
        return -ENOMEM;
    size_t have = 0;
    while (have < size) {
        ssize_t n = read(fd, btf + have, size - have);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            break;
        have += (size_t)n;
    }
    int result = find_function(btf, have, name);
    free(btf);
    return result;
}

int kernel_btf_function(const char *name)
{
    int fd = open(KERNEL_BTF, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    int result;
    struct stat st;
    if (fstat(fd, &st) < 0) {
        result = -errno;
    } else if (st.st_size <= 0 || st.st_size > MAX_BTF) {
        result = -EINVAL;
    } else {
        void *btf = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
        if (btf == MAP_FAILED) {
            result = find_by_reading(fd, (size_t)st.st_size, name);
        } else {
            result = find_function(btf, (size_t)st.st_size, name);
            munmap(btf, (size_t)st.st_size);
        }
    }
    close(fd);
    return result;
}
