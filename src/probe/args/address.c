/* Finds where a function or a variable is in a running process. */
#include "probe/args/address.h"

#include <errno.h>
#include <sys/stat.h>

#include "probe/args/variable.h"
#include "probe/probe.h"
#include "sym/maps.h"

static int find_mapped(const struct maps *maps, const struct site *site, pid_t pid, uint64_t *address,
                       struct error *err)
{
    struct stat file;
    if (stat(site->path, &file))
        return error_set(err, -errno, "cannot open %s: %s", site->module, error_reason(errno));
    for (size_t i = 0; i < maps->count; i++) {
        const struct mapping *mapping = &maps->items[i];
        uint64_t size = mapping->end - mapping->start;
        if (mapping->executable && mapping_is_of(mapping, file.st_dev, file.st_ino, site->module) &&
            site->offset >= mapping->offset && site->offset - mapping->offset < size) {
            *address = mapping->start + (site->offset - mapping->offset);
            return 0;
        }
    }
    return error_set(err, -ENOENT, "process %d has not mapped %s of %s", (int)pid, site->function, site->module);
}

/* The address of the function SPEC, or, where there is none, of the variable. */
static int address_of(const char *spec, const struct target *target, const struct maps *maps, uint64_t *address,
                      struct error *err)
{
    struct site *sites = NULL;
    size_t count = 0;
    int rc = probe_resolve(spec, target, &sites, &count, err);
    if (rc == -ENOENT) {
        struct error other = {0};
        int code = variable_address(spec, target, maps, address, &other);
        if (!code)
            return 0;
        if (code != -ENOENT)
            *err = other;
        return code;
    }
    if (!rc && count != 1)
        rc = error_set(err, -ENOTUNIQ, "%s: there are %zu of that name, at different addresses", spec, count);
    if (!rc)
        rc = find_mapped(maps, &sites[0], target->pids[0], address, err);
    sites_free(sites, count);
    return rc;
}

int probe_address(const char *spec, pid_t pid, uint64_t *address, struct error *err)
{
    struct target target;
    struct maps maps = {0};
    target_init(&target);
    int rc = target_attach(&target, &pid, 1, err);
    if (!rc && (rc = maps_read(&maps, pid)))
        error_set(err, rc, "mappings of process %d: %s", (int)pid, error_reason(rc));
    if (!rc)
        rc = address_of(spec, &target, &maps, address, err);
    maps_free(&maps);
    target_close(&target);
    return rc;
}
