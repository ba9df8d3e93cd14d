/* Files by the numbers that frames of stacks have. */
#include "sym/frame_files.h"

#include <stdlib.h>
#include <string.h>

#include "sym/maps.h"

void frame_files_free(struct frame_files *files)
{
    free(files->items);
}

struct frame_file *frame_files_get(struct frame_files *files, uint32_t number)
{
    if (number >= files->count) {
        size_t count = (size_t)number * 2 + 1;
        struct frame_file *items = realloc(files->items, count * sizeof *items);
        if (!items)
            return NULL;
        memset(items + files->count, 0, (count - files->count) * sizeof *items);
        files->items = items;
        files->count = count;
    }
    return &files->items[number];
}

uint64_t frame_files_address(const struct frame_file *file, uint64_t offset, const struct maps *maps)
{
    for (size_t i = 0; maps && file->image && i < maps->count; i++) {
        const struct mapping *mapping = &maps->items[i];
        uint64_t inside = offset - (mapping->inode ? mapping->offset : 0);
        if (mapping->executable && mapping->image == file->image && inside < mapping->end - mapping->start)
            return mapping->start + inside;
    }
    return 0;
}
