/*
 * BPF objects that somebody brings along, opened as up.bpf_object opens them, and all that a script can see of them.
 * What is changed are mostly whole words of what refers to something: section headers, symbols, relocations, types, map
 * declarations. Half of these changes are numbers that stand in that section elsewhere, so that what results often
 * leads somewhere.
 */
#include <elf.h>
#include <lauxlib.h>
#include <lua.h>

#include "base/error.h"
#include "fuzz.h"
#include "lua/state.h"

size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed);

static const char start[] = "package.path = './lua/?.lua;./build/lua/?.lua;./tests/reference/?.lua;' .. package.path\n"
                            "return require('hostile_objects').open\n";

static lua_State *reader(void)
{
    static lua_State *L;
    struct error err = {0};
    if (L)
        return L;
    L = state_new(&err);
    if (!L || luaL_loadstring(L, start) || lua_pcall(L, 0, 1, 0)) {
        fprintf(stderr, "%s\n", L ? lua_tostring(L, -1) : err.text);
        abort();
    }
    return L;
}

/* A word of the file, of two, four or eight bytes. */
struct place {
    size_t at, bytes;
};

/* A number below LIMIT. */
static size_t below(unsigned *seed, size_t limit)
{
    return limit ? (size_t)rand_r(seed) % limit : 0;
}

/* Some word of the SIZE bytes at AT, in which words of BYTES bytes stand. */
static struct place word_of(unsigned *seed, size_t at, size_t size, size_t bytes)
{
    return (struct place){at + below(seed, size / bytes) * bytes, bytes};
}

/* Some section of DATA, as far as its headers can be read. */
static bool choose_section(const uint8_t *data, size_t size, unsigned *seed, Elf64_Shdr *section)
{
    Elf64_Ehdr header;
    if (size < sizeof header)
        return false;
    memcpy(&header, data, sizeof header);
    if (header.e_shoff > size || (size - header.e_shoff) / sizeof *section < header.e_shnum || !header.e_shnum)
        return false;
    if (below(seed, 8) == 0) {
        *section =
            (Elf64_Shdr){.sh_offset = header.e_shoff, .sh_size = header.e_shnum * sizeof *section, .sh_type = SHT_NULL};
        return true;
    }
    memcpy(section, data + header.e_shoff + below(seed, header.e_shnum) * sizeof *section, sizeof *section);
    return section->sh_offset < size && section->sh_size <= size - section->sh_offset && section->sh_size >= 8;
}

static uint64_t read_word(const uint8_t *data, struct place place)
{
    uint64_t value = 0;
    memcpy(&value, data + place.at, place.bytes);
    return value;
}

/* Changes a word that refers to something. */
static bool change(uint8_t *data, size_t size, unsigned *seed)
{
    static const uint64_t odd[] = {0,    1,      2,      3,          31,         32,         0x7f,
                                   0xff, 0x7fff, 0xffff, 0x7fffffff, 0x80000000, 0xffffffff, UINT64_MAX};
    Elf64_Shdr section;
    if (!choose_section(data, size, seed, &section))
        return false;
    size_t bytes = section.sh_type == SHT_SYMTAB || section.sh_type == SHT_REL || section.sh_type == SHT_NULL
                       ? (size_t)2 << below(seed, 3)
                       : 4;
    struct place place = word_of(seed, section.sh_offset, section.sh_size, bytes),
                 other = word_of(seed, section.sh_offset, section.sh_size, bytes);
    uint64_t value = read_word(data, place);
    switch (below(seed, 8)) {
    case 0:
        value += 1 + below(seed, 4);
        break;
    case 1:
        value -= 1 + below(seed, 4);
        break;
    case 2:
        value = odd[below(seed, sizeof odd / sizeof *odd)];
        break;
    case 3: /* the kind and the number of members of a type */
        value ^= (uint64_t)1 << (below(seed, 2) ? 24 + below(seed, 5) : below(seed, 8));
        break;
    default:
        value = read_word(data, other);
    }
    memcpy(data + place.at, &value, bytes);
    return true;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed)
{
    if (below(&seed, 8) == 0)
        return LLVMFuzzerMutate(data, size, max_size);
    for (size_t i = 1 + below(&seed, 4); i; i--)
        if (!change(data, size, &seed) && below(&seed, 4) == 0)
            return LLVMFuzzerMutate(data, size, max_size);
    return size;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    lua_State *L = reader();
    struct stat stat;
    int fd = fuzz_file(data, size, &stat);
    lua_pushvalue(L, 1);
    lua_pushfstring(L, "/proc/self/fd/%d", fd);
    if (lua_pcall(L, 1, 2, 0)) {
        fprintf(stderr, "%s\n", lua_tostring(L, -1));
        abort();
    }
    if (!lua_isnil(L, -1)) {
        fprintf(stderr, "%s\n", lua_tostring(L, -1));
        abort();
    }
    lua_settop(L, 1);
    lua_gc(L, LUA_GCCOLLECT, 0); /* the object is closed by its collection */
    close(fd);
    return 0;
}
