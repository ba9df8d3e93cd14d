/* Build tool: `link OUTPUT INPUT…` links BPF objects into one, as `bpftool gen object` does. */
#include <bpf/libbpf.h>
#include <stdio.h>
#include <string.h>

int main(int count, char **arguments)
{
    if (count < 3) {
        fprintf(stderr, "usage: %s OUTPUT INPUT...\n", arguments[0]);
        return 2;
    }
    struct bpf_linker *linker = bpf_linker__new(arguments[1], NULL);
    int code = linker ? 0 : -1;
    for (int i = 2; i < count && !code; i++)
        code = bpf_linker__add_file(linker, arguments[i], NULL);
    if (!code)
        code = bpf_linker__finalize(linker);
    bpf_linker__free(linker);
    if (code)
        fprintf(stderr, "%s: cannot link the BPF library: %s\n", arguments[0], strerror(-code));
    return code ? 1 : 0;
}
