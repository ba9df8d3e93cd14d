/* Code that processes make as they run. */
#include "sym/made.h"

#include <string.h>

bool made_is(const struct mapping *mapping)
{
    return mapping->executable && (!mapping->inode || (mapping->path && !strncmp(mapping->path, "/memfd:", 7)));
}

static struct perfmap_owner owner_of(const struct process *process)
{
    return (struct perfmap_owner){
        .pid = process->inner_pid,
        .uid = process->uid,
        .started = process->started,
        .root = process->root ? process->root->fd : -1,
    };
}

const char *made_lookup(struct processes *processes, struct process *process, uint64_t address, uint64_t *offset)
{
    if (!process->inner_pid)
        processes_read_identity(processes, process);
    if (!process->inner_pid || (!process->perfmap && !(process->perfmap = perfmap_new())))
        return NULL;
    struct perfmap_owner owner = owner_of(process);
    return perfmap_lookup(process->perfmap, &owner, address, offset);
}

bool made_refresh(struct processes *processes)
{
    bool changed = false;
    for (size_t i = 0; i < processes->count; i++) {
        struct process *process = processes->items[i];
        if (!process->perfmap || process->exited)
            continue;
        struct perfmap_owner owner = owner_of(process);
        changed |= perfmap_refresh(process->perfmap, &owner);
    }
    return changed;
}
