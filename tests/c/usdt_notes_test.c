/* Notes of USDT probes: a file of our own, prelinked and damaged in each byte. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "probe/usdt/usdt_notes.h"
#include "tap.h"

/* A file with .note.stapsdt, .stapsdt.base and the names of these. */
struct file {
    Elf64_Ehdr header;
    Elf64_Shdr sections[4];
    char names[64];
    char notes[512];
};

static void put(struct file *file, size_t *at, const void *bytes, size_t size)
{
    memcpy(file->notes + *at, bytes, size);
    *at += (size + 3) & ~(size_t)3;
}

static void add_note(struct file *file, size_t *at, uint64_t address, uint64_t base, uint64_t semaphore,
                     const char *strings, size_t size)
{
    char description[128];
    uint64_t words[] = {address, base, semaphore};
    memcpy(description, words, sizeof words);
    memcpy(description + sizeof words, strings, size);
    Elf64_Nhdr header = {.n_namesz = 8, .n_descsz = (Elf64_Word)(sizeof words + size), .n_type = 3};
    put(file, at, &header, sizeof header);
    put(file, at, "stapsdt", 8);
    put(file, at, description, header.n_descsz);
}

#define NOTE(file, at, address, base, semaphore, strings)                                                              \
    add_note(file, at, address, base, semaphore, strings, sizeof strings)

static struct file make(void)
{
    struct file file = {
        .header = {.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
                   .e_type = ET_DYN,
                   .e_version = EV_CURRENT,
                   .e_ehsize = sizeof(Elf64_Ehdr),
                   .e_phentsize = sizeof(Elf64_Phdr),
                   .e_shentsize = sizeof(Elf64_Shdr),
                   .e_shoff = offsetof(struct file, sections),
                   .e_shnum = 4,
                   .e_shstrndx = 3},
        .names = "\0.note.stapsdt\0.stapsdt.base\0.shstrtab",
    };
    size_t size = 0;
    NOTE(&file, &size, 0x1100, 0x2000, 0, "app\0first\0-4@%eax 8@%rbx");
    NOTE(&file, &size, 0x1200, 0x2000, 0x4010, "app\0second\0");
    file.sections[1] =
        (Elf64_Shdr){.sh_name = 1, .sh_type = SHT_NOTE, .sh_offset = offsetof(struct file, notes), .sh_size = size};
    file.sections[2] = (Elf64_Shdr){.sh_name = 15, .sh_type = SHT_PROGBITS, .sh_addr = 0x2000};
    file.sections[3] =
        (Elf64_Shdr){.sh_name = 29, .sh_type = SHT_STRTAB, .sh_offset = offsetof(struct file, names), .sh_size = 64};
    return file;
}

static int collect(const struct usdt_note *note, void *context)
{
    char *text = context;
    sprintf(text + strlen(text), "%s:%s %#llx %#llx [%s]\n", note->provider, note->name,
            (unsigned long long)note->address, (unsigned long long)note->semaphore, note->arguments);
    return 0;
}

static int count(const struct usdt_note *note, void *context)
{
    (void)note;
    ++*(int *)context;
    return 0;
}

static int stop(const struct usdt_note *note, void *context)
{
    ++*(int *)context;
    return note->provider ? -E2BIG : 0;
}

static int read_notes(const struct file *file, usdt_note_visit *visit, void *context)
{
    int fd = memfd_create("notes", MFD_CLOEXEC), result = -EBADF;
    struct elf_file elf;
    if (fd >= 0 && write(fd, file, sizeof *file) == sizeof *file && elf_file_open(&elf, fd) == 0) {
        result = usdt_notes_visit(&elf, visit, context);
        elf_file_close(&elf);
    }
    close(fd);
    return result;
}

static void reads(const struct file *file, const char *want, const char *what)
{
    char text[1024] = "";
    is_int(read_notes(file, collect, text), 0, "%s: they are read", what);
    is_str(text, want, "%s: what they say", what);
}

int main(void)
{
    struct file file = make();
    reads(&file, "app:first 0x1100 0 [-4@%eax 8@%rbx]\napp:second 0x1200 0x4010 []\n", "two notes");

    struct file moved = file;
    moved.sections[2].sh_addr = 0x12000;
    reads(&moved, "app:first 0x11100 0 [-4@%eax 8@%rbx]\napp:second 0x11200 0x14010 []\n", "a prelinked file");

    struct file none = file;
    none.sections[1].sh_type = SHT_PROGBITS;
    reads(&none, "", "no notes");
    none = file;
    none.sections[1].sh_size = sizeof file * 2;
    reads(&none, "", "a section that the file does not have");
    none = file;
    memset(none.notes, 0xff, sizeof none.notes);
    reads(&none, "", "sizes that overflow");

    struct file other = file;
    size_t size = 0;
    NOTE(&other, &size, 1, 0, 0, "a b\0name\0");
    NOTE(&other, &size, 2, 0, 0, "app\0\x1b[2J\0");
    NOTE(&other, &size, 3, 0, 0, "\0name\0");
    NOTE(&other, &size, 4, 0, 0, "app\0ok\0");
    other.sections[1].sh_size = size;
    reads(&other, "app:ok 0x4 0 []\n", "names that are none are passed over");
    add_note(&other, &size, 5, 0, 0, "app\0cut", 7);
    other.sections[1].sh_size = size;
    reads(&other, "app:ok 0x4 0 []\n", "strings that do not end in their note");

    int seen = 0;
    is_int(read_notes(&file, stop, &seen), -E2BIG, "what the visit returns ends it");
    is_int(seen, 1, "at once");

    int visits = 0, failed = 0;
    for (size_t at = 0; at < sizeof file.notes; at++)
        for (int bit = 0; bit < 8; bit++) {
            struct file damaged = file;
            damaged.notes[at] ^= (char)(1 << bit);
            failed += read_notes(&damaged, count, &visits) != 0;
        }
    ok(visits > 2000, "%d notes in damaged files", visits);
    is_int(failed, 0, "none of which was an error");
    return done_testing();
}
