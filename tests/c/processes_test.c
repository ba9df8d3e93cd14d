/* What is kept of processes that have exited, and of programs that others have replaced: as much as there is room for,
 * the newest. */
#include "sym/processes.h"

#include <stdlib.h>

#include "tap.h"

enum { EXITED = 20011, LIVING = 211, PROGRAMS = 61, MAPPINGS = 5, ROOM = 8 << 20 };

/* PROCESS maps a few files. */
static void map(struct process *process)
{
    for (uint64_t i = 0; i < MAPPINGS; i++) {
        struct mapping *added, mapping = {.start = (i + 1) << 20,
                                          .end = (i + 2) << 20,
                                          .inode = i + 1,
                                          .executable = true,
                                          .path = (char *)"/usr/lib/x86_64-linux-gnu/libexample.so.1"};
        if (maps_add(&process->maps, &mapping, &added))
            abort();
    }
}

static void test_exited(void)
{
    struct processes processes = {0};
    struct process *asked = processes_get(&processes, 1);
    asked->kept = true;
    map(asked);
    processes_exit(&processes, asked, 1);
    size_t most = 0;
    for (pid_t pid = 2; pid < EXITED + 2; pid++) {
        struct process *process = processes_get(&processes, pid);
        map(process);
        processes_exit(&processes, process, (uint64_t)pid);
        processes_forget_old(&processes);
        most = processes.kept_bytes > most ? processes.kept_bytes : most;
    }
    ok(most <= ROOM && most > ROOM / 2, "20,011 processes that have exited: %zu bytes are kept at most", most);
    pid_t first = 2;
    while (!processes_find(&processes, first))
        first++;
    pid_t known = first;
    while (processes_find(&processes, known))
        known++;
    is_int(known, EXITED + 2, "the last ones are known, without a gap");
    ok(first > 2, "and the first ones are not: %d are", (int)(known - first));
    ok(processes_find(&processes, 1) == asked, "who was asked for stays");
    is_int((long long)processes.exited_count, known - first, "the others are counted");

    /* Somebody else has the number now. */
    processes_revive(&processes, processes_find(&processes, known - 1));
    is_int((long long)processes.exited_count, known - first - 1, "one that has begun anew is not among them");
    size_t before = processes.kept_bytes;
    processes_exit(&processes, processes_find(&processes, known - 1), EXITED + 3);
    ok(processes.kept_bytes > before, "until it exits, too");
    processes_free(&processes);
}

static void test_programs(void)
{
    struct processes processes = {0};
    for (uint64_t i = 0; i < PROGRAMS; i++)
        for (pid_t pid = 1; pid <= LIVING; pid++) {
            struct process *process = processes_get(&processes, pid);
            if (processes_execute(&processes, process, i * LIVING + (uint64_t)pid))
                abort();
            map(process);
            processes_forget_old(&processes);
        }
    ok(processes.kept_bytes <= ROOM, "211 processes execute 61 programs each: %zu bytes are kept",
       processes.kept_bytes);
    is_int((long long)processes.count, LIVING, "all processes are known");
    size_t mapped = 0, earlier = 0;
    for (size_t i = 0; i < processes.count; i++) {
        mapped += processes.items[i]->maps.count;
        earlier += processes.items[i]->earlier_count > 0;
    }
    is_int((long long)mapped, LIVING * MAPPINGS, "with what they map now");
    is_int((long long)earlier, LIVING, "and with the program before");
    processes_free(&processes);
}

int main(void)
{
    test_exited();
    test_programs();
    return done_testing();
}
