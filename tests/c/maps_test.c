/* A file that could not be opened when its process's mappings were read is looked for again once the mapping is
 * reported. */
#include "sym/maps.h"

#include "tap.h"

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
    return done_testing();
}
