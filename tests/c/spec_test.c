/* What users write as a probe, and what they are told where it is none. */
#include <errno.h>

#include "probe/spec.h"
#include "tap.h"

static void parses(const char *text, const char *binary, const char *function, const char *version, uint64_t offset)
{
    struct spec spec;
    struct error err = {0};
    if (!is_int(spec_parse(text, &spec, &err), 0, "%s is a spec", text)) {
        fprintf(stderr, "#   %s\n", err.text);
        return;
    }
    is_str(spec.binary, binary, "%s: its binary", text);
    is_str(spec.function, function, "%s: its function", text);
    is_str(spec.version, version, "%s: its version", text);
    is_int((int64_t)spec.offset, (int64_t)offset, "%s: its offset", text);
    spec_free(&spec);
}

static void refuses(const char *text, const char *part)
{
    struct spec spec;
    struct error err = {0};
    ok(spec_parse(text, &spec, &err) < 0, "'%s' is refused", text);
    ok(strstr(err.text, part) != NULL, "and the message says '%s'", part);
    is_str(spec.text, NULL, "and nothing is kept");
}

int main(void)
{
    parses("libc:malloc", "libc", "malloc", NULL, 0);
    parses("./app:parse+0x1c", "./app", "parse", NULL, 0x1c);
    parses("/usr/bin/app:parse+28", "/usr/bin/app", "parse", NULL, 28);
    parses("libc:memcpy@GLIBC_2.14", "libc", "memcpy", "GLIBC_2.14", 0);
    parses("libc:memcpy@@GLIBC_2.14+4", "libc", "memcpy", "GLIBC_2.14", 4);
    parses("app:Foo::bar", "app", "Foo::bar", NULL, 0);
    parses("app:operator+", "app", "operator+", NULL, 0);
    parses("libstdc++:_Znwm", "libstdc++", "_Znwm", NULL, 0);
    parses("libc.so.6:str*", "libc.so.6", "str*", NULL, 0);
    parses("libc:0x27380", "libc", "0x27380", NULL, 0);
    refuses("libc:0x", "not an address");
    refuses("libc:0x12z", "not an address");
    refuses("libc:0x27380+4", "not an address");
    refuses("libc:0x10000000000000000", "not an address");
    refuses("malloc", "BINARY:FUNCTION");
    refuses("", "BINARY:FUNCTION");
    refuses(":malloc", "BINARY:FUNCTION");
    refuses("libc:", "BINARY:FUNCTION");
    refuses("libc:+4", "names no function");
    refuses("libc:malloc+4x", "not an offset");
    refuses("libc:malloc+99999999999999999999", "not an offset");
    refuses("libc:mal*+4", "pattern");
    refuses("app@main.c:42", "source lines are not supported");
    return done_testing();
}
