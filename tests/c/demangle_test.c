/* Names of symbols become names for people, whatever a hostile file puts there. */
#include "sym/demangle.h"

#include <stdlib.h>

#include "tap.h"

static void demangles(const char *name, const char *want)
{
    char *got = demangle(name);
    is_str(got, want, "demangles %.60s", name);
    free(got);
}

static void escapes(const char *text, const char *want, const char *what)
{
    char *got = text_escape(text);
    is_str(got, want, "%s", what);
    free(got);
}

int main(void)
{
    demangles("main", "main");
    demangles("_start", "_start");
    demangles("_ZN3foo3barEi", "foo::bar(int)");
    demangles("_ZNSt6vectorIiSaIiEE9push_backEOi", "std::vector<int, std::allocator<int> >::push_back(int&&)");
    demangles("_ZN3fooD1Ev", "foo::~foo()");
    demangles("_ZL6helperv.cold", "helper() [clone .cold]");
    demangles("_ZN4core3fmt5Write9write_fmt17h0123456789abcdefE", "core::fmt::Write::write_fmt");
    demangles("_ZN3std2io5stdio6_print17hb1c3e6a8d2f45709E.llvm.1234", "std::io::stdio::_print");
    demangles("_ZN58_$LT$alloc..string..String$u20$as$u20$core..fmt..Debug$GT$3fmt17h62f1d3a9e0b4c785E",
              "<alloc::string::String as core::fmt::Debug>::fmt");
    demangles("_RNvC6_123foo3bar", "123foo::bar");
    demangles("_RNvNtCs1234_7mycrate3foo3bar", "mycrate::foo::bar");
    demangles("malloc@@GLIBC_2.2.5", "malloc");
    demangles("memcpy@GLIBC_2.2.5", "memcpy");
    demangles("_Znwm@@GLIBCXX_3.4", "operator new(unsigned long)");
    demangles("@odd", "@odd");
    demangles("_Z", "_Z");
    demangles("_ZN", "_ZN");
    demangles("_R", "_R");

    escapes("a\x1b[31mb", "a\\x1b[31mb", "an escape character is shown, not sent");
    escapes("a\n\tb\x7f", "a\\x0a\\x09b\\x7f", "newline, tab and DEL are escaped");
    escapes("caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80", "caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80", "UTF-8 is kept");
    escapes("\xc2\x9b"
            "31m",
            "\\xc2\\x9b"
            "31m",
            "a C1 control character is escaped");
    escapes("\xe2\x80\xae"
            "abc",
            "\\xe2\\x80\\xae"
            "abc",
            "a character that reverses the line is escaped");
    escapes("\xc0\xaf\xff\xed\xa0\x80", "\\xc0\\xaf\\xff\\xed\\xa0\\x80", "what is no UTF-8 is escaped");
    escapes("a\xe2\x82", "a\\xe2\\x82", "a character cut short is escaped");

    char *longest = malloc(100001);
    memset(longest, 'x', 100000);
    longest[100000] = '\0';
    char *got = text_escape(longest);
    is_int((int64_t)strlen(got), DEMANGLE_MAX, "a long name is cut");
    is_str(got + DEMANGLE_MAX - 3, "...", "and shows it");
    free(got);
    free(longest);

    /* Each parameter is a pair of the one before: 2^35 names. */
    char bomb[1024] = "_Z1f1pI1aS0_E", *end = bomb + strlen(bomb);
    for (int i = 1; i < 36; i++) {
        char digit = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"[i];
        end += snprintf(end, sizeof bomb - (size_t)(end - bomb), "S_IS%c_S%c_E", digit, digit);
    }
    got = demangle(bomb);
    ok(got && strlen(got) <= DEMANGLE_MAX, "a short name for gigabytes of text is cut");
    ok(got && !strncmp(got, "f(p<", 4), "and it was demangled");
    free(got);
    return done_testing();
}
