/* What users write as a probe, and what they are told where it is none. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "probe/spec/spec.h"
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

static void line(const char *text, const char *binary, const char *file, unsigned number)
{
    struct spec spec;
    struct error err = {0};
    if (!is_int(spec_parse(text, &spec, &err), 0, "%s is a spec", text))
        return;
    is_str(spec.binary, binary, "%s: its binary", text);
    is_str(spec.file, file, "%s: its file", text);
    is_int(spec.line, number, "%s: its line", text);
    spec_free(&spec);
}

static void named(const char *text, bool demangled, bool pattern)
{
    struct spec spec;
    struct error err = {0};
    if (!is_int(spec_parse(text, &spec, &err), 0, "%s is a spec", text))
        return;
    ok(spec.demangled == demangled, "%s: a name %s", text, demangled ? "for people" : "of a symbol");
    ok(spec.pattern == pattern, "%s: %s", text, pattern ? "a pattern" : "one name");
    spec_free(&spec);
}

/* A folder and a program with both signs in their names: what exists is the binary. */
static void signs_in_paths(void)
{
    char folder[] = "/tmp/spec_test@XXXXXX", program[64], text[96];
    if (!ok(mkdtemp(folder) != NULL, "a folder"))
        return;
    snprintf(program, sizeof program, "%s/a@b:c", folder);
    FILE *file = fopen(program, "w");
    if (ok(file != NULL, "a program"))
        fclose(file);
    snprintf(text, sizeof text, "%s@dir@2/main.c:12", program);
    line(text, program, "dir@2/main.c", 12);
    snprintf(text, sizeof text, "%s:dir@2/main.c:12", program);
    line(text, program, "dir@2/main.c", 12);
    snprintf(text, sizeof text, "%s:main@V1+4", program);
    parses(text, program, "main", "V1", 4);
    unlink(program);
    rmdir(folder);
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
    refuses("app:42", "a line is that of a source file");
    refuses("@main.c:42", "a line is that of a source file");
    refuses("app@:42", "a line is that of a source file");
    refuses("app@main.c:0", "there is no line 0");
    refuses("app@main.c:99999999999999999999", "there is no line");
    line("app@main.c:42", "app", "main.c", 42);
    line("/usr/bin/app@src/main.c:7", "/usr/bin/app", "src/main.c", 7);
    line("./app:main.c:42", "./app", "main.c", 42);
    line("./app:dir@2/main.c:12", "./app", "dir@2/main.c", 12);
    line("app@dir@2/main.c:12", "app", "dir@2/main.c", 12);
    line("app@dir:2/main.c:12", "app", "dir:2/main.c", 12);
    named("app:Foo::12", true, false); /* not a line of a file */
    signs_in_paths();
    named("app:ns::Klass::*", true, true);
    named("app:f(int)", true, false);
    named("app:operator new", false, false);
    named("app:mal*", false, true);
    return done_testing();
}
