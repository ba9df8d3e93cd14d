/*
 * Libraries of a command about to start are those that the loader then maps: the specs resolved before its start are
 * compared with the mappings of the running process.
 */
#include <errno.h>
#include <poll.h>

#include "probe/module/library.h"
#include "probe/module/shebang.h"
#include "probe/probe.h"
#include "programs.h"

static const char program_source[] = "#include <stdio.h>\n"
                                     "int first(void);\n"
                                     "int main(void) { char c; puts(\"ready\"); fflush(stdout);\n"
                                     "  while (read(0, &c, 1) == 1) first();\n"
                                     "  return first() - 1; }\n";

static void matches(const char *file, const char *name, bool wanted)
{
    ok(library_matches(file, name) == wanted, "%s is %s%s", file, wanted ? "" : "not ", name);
}

static void test_names(void)
{
    matches("libc.so.6", "libc", true);
    matches("libc-2.31.so", "libc", true);
    matches("libc.musl-x86_64.so.1", "libc", true);
    matches("ld-musl-aarch64.so.1", "libc", true);
    matches("libssl.so.3", "libssl", true);
    matches("libssl.so.3", "libssl.so.3", true);
    matches("libfoo.so", "libfoo", true);
    matches("libstdc++.so.6.0.30", "libstdc++", true);
    matches("libcap.so.2", "libc", false);
    matches("libcrypt-dev.so.1", "libcrypt", false);
    matches("libc-client.so.2007", "libc", false);
    matches("libc", "libcc", false);
}

/* Module of the one site of SPEC for the not yet released command ARGV, or an empty string. */
static const char *module_before_start(const char *program, const char *spec, struct error *err)
{
    static char module[4096];
    char *argv[] = {(char *)program, NULL};
    struct target target;
    struct site *sites = NULL;
    size_t count = 0;
    module[0] = '\0';
    *err = (struct error){0};
    if (target_start(&target, argv, err) == 0 && probe_resolve(spec, &target, &sites, &count, err) == 0 && count == 1)
        snprintf(module, sizeof module, "%s", sites->module);
    sites_free(sites, count);
    target_close(&target);
    return module;
}

/* SPEC resolves, before PROGRAM starts, to FILE; and PROGRAM then really maps FILE. */
static void finds(const char *program, const char *spec, const char *file)
{
    struct error err;
    if (!is_str(module_before_start(program, spec, &err), file, "%s before the start", spec))
        fprintf(stderr, "#   %s\n", err.text);
    struct program running = start(program, NULL, NULL);
    ok(base_of(running.pid, file) != 0, "and %s is what runs", file);
    stop(&running);
}

static void test_search(void)
{
    ok(shell("mkdir -p lib/deep other && "
             "echo 'int second(void); int first(void) { return second(); }' > first.c && "
             "echo 'int second(void) { return 1; }' > second.c && "
             "echo 'int second(void) { return 1; } int only_here(void) { return 2; }' > preload.c && "
             "cc -shared -fPIC -o lib/deep/libsecond.so.2 -Wl,-soname,libsecond.so.2 second.c && "
             "cc -shared -fPIC -o other/libsecond.so.2 -Wl,-soname,libsecond.so.2 second.c && "
             "cc -shared -fPIC -o preload.so preload.c && "
             "cc -shared -fPIC -o lib/libfirst.so.1 -Wl,-soname,libfirst.so.1 first.c lib/deep/libsecond.so.2 "
             "-Wl,-rpath,'$ORIGIN/deep' -Wl,--enable-new-dtags && "
             "cc -include unistd.h -o runpath program.c lib/libfirst.so.1 -Wl,-rpath,'${ORIGIN}/lib' "
             "-Wl,--enable-new-dtags -Wl,--allow-shlib-undefined && "
             "cc -include unistd.h -o rpath program.c lib/libfirst.so.1 -Wl,-rpath,'$ORIGIN/lib:$ORIGIN/other' "
             "-Wl,--disable-new-dtags -Wl,--allow-shlib-undefined"),
       "programs with RUNPATH and RPATH are built");
    char deep[256], other[256];
    snprintf(deep, sizeof deep, "%s", in_dir("lib/deep/libsecond.so.2"));
    snprintf(other, sizeof other, "%s", in_dir("other/libsecond.so.2"));

    finds(in_dir("runpath"), "libfirst:first", in_dir("lib/libfirst.so.1"));
    finds(in_dir("runpath"), "libsecond:second", deep);
    setenv("LD_LIBRARY_PATH", in_dir("other"), 1);
    finds(in_dir("runpath"), "libsecond:second", other);
    unsetenv("LD_LIBRARY_PATH");
    ok(shell("cp other/libsecond.so.2 lib/ && mkdir -p lib/none && "
             "cc -shared -fPIC -o lib/libfirst.so.1 -Wl,-soname,libfirst.so.1 first.c lib/deep/libsecond.so.2"),
       "a library without a path of its own");
    finds(in_dir("rpath"), "libsecond:second", in_dir("lib/libsecond.so.2"));
    setenv("LD_PRELOAD", in_dir("preload.so"), 1);
    finds(in_dir("rpath"), "preload.so:only_here", in_dir("preload.so"));
    unsetenv("LD_PRELOAD");
    struct error err;
    ok(!*module_before_start(in_dir("rpath"), "libfirts:first", &err) && strstr(err.text, "did you mean libfirst"),
       "a library that it does not have");
}

static void test_standard(void)
{
    struct program running = start(in_dir("rpath"), NULL, NULL);
    char path[64], line[4096], mapped[4096] = "";
    snprintf(path, sizeof path, "/proc/%d/maps", (int)running.pid);
    FILE *maps = fopen(path, "r");
    while (maps && !*mapped && fgets(line, sizeof line, maps))
        if (strstr(line, "/libc.so.6"))
            sscanf(strchr(line, '/'), "%4095s", mapped);
    if (maps)
        fclose(maps);
    stop(&running);
    struct error err;
    is_str(module_before_start(in_dir("rpath"), "libc:malloc", &err), mapped, "the C library of a command");
    struct target machine;
    struct site *sites;
    size_t count;
    target_init(&machine);
    is_int(probe_resolve("libc:malloc", &machine, &sites, &count, &err), 0, "the C library of the machine: %s",
           err.text);
    is_str(count == 1 ? sites->module : NULL, mapped, "is the same file");
    sites_free(sites, count);
    char **paths;
    is_int(probe_modules_defining((const char *const[]){"malloc"}, 1, &machine, &paths, &count, &err), 0,
           "what defines malloc on the machine");
    ok(count == 1 && !strcmp(paths[0], mapped), "is the C library");
    for (size_t i = 0; i < count; i++)
        free(paths[i]);
    free(paths);
}

/* musl beside glibc, whose ldconfig lists musl's loader, too. */
static void test_musl_beside(void)
{
    ok(shell("mkdir -p root/lib root/etc && cp $(ldd /bin/sh | awk '$1 == \"libc.so.6\" { print $3 }') "
             "root/lib/libc.so.6 && "
             "cc -shared -fPIC -o root/lib/ld-musl-x86_64.so.1 second.c && echo /lib > root/etc/ld.so.conf && "
             "/sbin/ldconfig -r root && /sbin/ldconfig -r root -p | grep -q ld-musl"),
       "a root with both");
    struct modules modules = {0};
    is_int(library_find(in_dir("root"), "libc", &modules), 0, "its C library is looked for");
    ok(modules.count == 1 && !strcmp(modules.items[0].name, "/lib/libc.so.6"), "there is one: glibc's");
    modules_free(&modules);
}

static void interprets(const char *line, const char *program)
{
    write_file("script", line);
    char *found = shebang_program(in_dir("script")), *real = found ? realpath(found, NULL) : NULL;
    char *wanted = realpath(program, NULL);
    is_str(real, wanted, "%.*s", (int)strcspn(line, "\n"), line);
    free(found);
    free(real);
    free(wanted);
}

static void test_scripts(void)
{
    setenv("PATH", "/usr/bin:/bin", 1);
    interprets("#!/bin/sh\n", "/bin/sh");
    interprets("#! /bin/sh -e \n", "/bin/sh");
    interprets("#!/usr/bin/env bash\n", "/bin/bash");
    interprets("#!/usr/bin/env -S A=1 bash -e\n", "/bin/bash");
    interprets("echo no interpreter\n", "/bin/sh");
    char line[300];
    ok(shell("printf '#!/bin/bash\\n' > inner && chmod 755 inner"), "a script that interprets");
    snprintf(line, sizeof line, "#!%s\n", in_dir("inner"));
    interprets(line, "/bin/bash");
    snprintf(line, sizeof line, "#!%s\n", in_dir("script"));
    write_file("script", line);
    char *found = shebang_program(in_dir("script"));
    is_str(found, in_dir("script"), "a script that interprets itself has an end");
    free(found);
    struct error err;
    write_file("script", "#!/bin/sh\n");
    ok(shell("chmod 755 script") && strstr(module_before_start(in_dir("script"), "libc:malloc", &err), "libc"),
       "a script's libraries are its interpreter's");
    write_file("script", "#!/nonexistent\n");
    ok(!*module_before_start(in_dir("script"), "libc:malloc", &err) && strstr(err.text, "needs the interpreter"),
       "a missing interpreter: %s", err.text);
}

int main(void)
{
    if (!mkdtemp(dir))
        return 99;
    write_file("program.c", program_source);
    test_names();
    test_search();
    test_standard();
    test_musl_beside();
    test_scripts();
    ok(shell("rm -rf %s", dir), "cleaned up");
    return done_testing();
}
