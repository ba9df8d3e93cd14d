/* The other file of tests/targets/globals.cc, which has variables of its own that have the same names. */
int other_file = 40;
static int total = -2;
static int mine = 3;

namespace ns
{
int other_counter = 50;
}

int use(int i)
{
    return total + mine++ + i;
}
