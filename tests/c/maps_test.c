/* A file that could not be opened when its process's mappings were read is looked for again once the mapping is
 * reported; and what has taken the place of another file's code is known for that. */
#include "sym/maps.h"

#include "tap.h"

static struct mapping mapping_of(uint64_t start, uint64_t end, uint64_t inode)
{
    return (struct mapping){
        .start = start, .end = end, .inode = inode, .executable = true, .path = inode ? "/lib/x" : NULL};
}

/* Adds MAPPING: whether the mapping that it is now replaces another file's code. */
static bool add(struct maps *maps, struct mapping mapping)
{
    struct mapping *added;
    bool before = maps_replaces(maps, &mapping);
    return !maps_add(maps, &mapping, &added) && added->replaces == before && before;
}

static void test_places(void)
{
    struct maps maps = {0}, now = {0};
    ok(!add(&maps, mapping_of(0x1000, 0x5000, 23)) && !add(&maps, mapping_of(0x5000, 0x6000, 101)),
       "mappings side by side have no other's place");
    ok(!add(&maps, mapping_of(0x2000, 0x3000, 23)), "nor has one of the same file");
    ok(add(&maps, mapping_of(0x4000, 0x5000, 101)), "another file's has");
    ok(add(&maps, mapping_of(0x5800, 0x5900, 0)), "and that of none");
    ok(add(&maps, mapping_of(0x4000, 0x5000, 23)), "and so has the first file's, which comes back");
    ok(!maps_find(&maps, 0x1800)->replaces, "what lies beside it has not");
    ok(!add(&now, mapping_of(0x1000, 0x2000, 7)) && !add(&now, mapping_of(0x7000, 0x8000, 7)), "two that were read");
    ok(!maps_merge(&now, &maps) && maps_find(&now, 0x1800)->replaces && !maps_find(&now, 0x7800)->replaces,
       "one of them lies where another file was before");
    maps_free(&now);
}

int main(void)
{
    struct maps maps = {0};
    struct mapping read = {.start = 0x1000, .end = 0x2000, .inode = 23, .executable = true, .path = "/bin/x"};
    struct mapping reported = read, *added = NULL;
    reported.time = 101;
    reported.generation = 7;
    ok(!maps_add(&maps, &read, &added) && !added->tried, "a mapping that was read");
    added->tried = true; /* its process was gone before the file was opened */
    ok(!maps_add(&maps, &reported, &added) && maps.count == 1 && added->time == 101 && added->generation == 7,
       "is the one that is reported");
    ok(!added->tried, "and its file is looked for once more");
    added->tried = true;
    ok(!maps_add(&maps, &reported, &added) && added->tried, "but not at each report");
    added->time = 0;
    added->image = (struct image *)&reported; /* never looked into */
    ok(!maps_add(&maps, &reported, &added) && added->tried, "nor where it was opened");
    maps_free(&maps);
    test_places();
    return done_testing();
}
