/* The semaphores of USDT probes. */
#include "probe/usdt/semaphore.h"

#include <sys/stat.h>
#include <sys/uio.h>

#include "sym/maps.h"

bool semaphore_is_down(const struct site *site, pid_t pid)
{
    struct maps maps = {0};
    struct stat file;
    bool down = false, up = false;
    if (!site->semaphore || stat(site->path, &file) < 0 || maps_read(&maps, pid) < 0)
        return false;
    for (size_t i = 0; i < maps.count; i++) {
        const struct mapping *mapping = &maps.items[i];
        uint16_t count = 0;
        if (!mapping_is_of(mapping, file.st_dev, file.st_ino, site->module) || site->semaphore < mapping->offset ||
            site->semaphore - mapping->offset >= mapping->end - mapping->start)
            continue;
        struct iovec there = {(void *)(uintptr_t)(mapping->start + (site->semaphore - mapping->offset)), sizeof count};
        if (process_vm_readv(pid, &(struct iovec){&count, sizeof count}, 1, &there, 1, 0) != (ssize_t)sizeof count)
            continue;
        /* The file's page may be mapped a second time, with the code that lies beside it: that copy stays as it is. */
        *(count ? &up : &down) = true;
    }
    maps_free(&maps);
    return down && !up;
}
