/*
 * names: calls name(s, size, n) with texts that a hostile program may choose, the nth 23 + n times: names of methods,
 * control characters, what is no UTF-8, NULs. SIZE counts all bytes, behind which there is a NUL.
 */
#include <stddef.h>

#include "noinline.h"

#define TEXT(s)                                                                                                        \
    {                                                                                                                  \
        s, sizeof s - 1                                                                                                \
    }

static const struct {
    const char *bytes;
    size_t size;
} names[] = {
    TEXT("top"),     TEXT("get"),      TEXT("set"),   TEXT("pairs"),    TEXT("size"),     TEXT("clear"),
    TEXT("delete"),  TEXT("take"),     TEXT("kind"),  TEXT("id"),       TEXT("options"),  TEXT("name"),
    TEXT("queued"),  TEXT("read"),     TEXT("count"), TEXT("sum"),      TEXT("avg"),      TEXT("percentile"),
    TEXT("bind"),    TEXT("__index"),  TEXT("nil"),   TEXT("inc"),      TEXT("add"),      TEXT(""),
    TEXT("\x1b[2J"), TEXT("\xff\xfe"), TEXT("a\nb"),  TEXT("\xe2\x82"), TEXT("abc"),      TEXT("abc\xe2\x80\xa6"),
    TEXT("1"),       TEXT("a\0b"),     TEXT("a\0c"),  TEXT("\0"),       TEXT("\0\xff\0"),
};

NOINLINE long name(const char *s, long size, long n)
{
    __asm__ volatile("" : : "r"(s), "r"(size) : "memory");
    return n;
}

int main(void)
{
    for (long n = 0; n < (long)(sizeof names / sizeof *names); n++)
        for (long i = 0; i < 23 + n; i++)
            name(names[n].bytes, (long)names[n].size, n);
    return 0;
}
