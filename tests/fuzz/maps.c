/* A process's mappings as text, whose paths the process chose; then merged with others, and added one by one. */
#include "sym/maps.h"
#include "fuzz.h"

static void check(const struct maps *maps)
{
    for (size_t i = 0; i < maps->count; i++)
        if (maps->items[i].start >= maps->items[i].end || (i && maps->items[i - 1].end > maps->items[i].start))
            abort();
}

static bool parse(const uint8_t *data, size_t size, struct maps *maps)
{
    FILE *file = size ? fmemopen((void *)data, size, "r") : NULL;
    int rc = file ? maps_parse(maps, file) : -ENOENT;
    if (file)
        fclose(file);
    return !rc;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct maps first = {0}, second = {0}, added = {0};
    size_t half = size / 2;
    if (parse(data, size, &first)) {
        check(&first);
        for (size_t i = 0; i < first.count; i++) {
            struct mapping *at;
            first.items[i].executable = true;
            maps_add(&added, &first.items[first.count - 1 - i], &at);
        }
        check(&added);
        maps_find(&first, 0x1000);
        if (parse(data + half, size - half, &second)) {
            maps_copy(&added, &second);
            check(&added);
            if (maps_merge(&second, &first))
                abort();
            check(&second);
        }
    }
    maps_free(&first);
    maps_free(&second);
    maps_free(&added);
    return 0;
}
