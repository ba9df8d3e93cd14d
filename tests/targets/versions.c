/* A program that calls older versions of a library's functions, as one does that was linked with it long ago. */
#define OLD(name, version) __asm__(".symver " #name ", " version)

int foo_old(int), foo(int), bar_old(int), bar_middle(int), bar(int), same_old(int), same(int);
signed char width_old(int);
unsigned short width(int);
OLD(foo_old, "foo@V1");
OLD(bar_old, "bar@V1");
OLD(bar_middle, "bar@V10");
OLD(same_old, "same@V1");
OLD(width_old, "width@V1");

static int call(int (*function)(int), int times)
{
    int sum = 0;
    for (int i = 0; i < times; i++)
        sum += function(i);
    return sum;
}

int main(void)
{
    int widths = 0;
    for (int i = 0; i < 3; i++)
        widths += width_old(5) + width(5) + width(5);
    return (call(foo_old, 6) + call(foo, 2) + call(bar_old, 5) + call(bar_middle, 7) + call(bar, 11) +
            call(same_old, 23) + call(same, 101) + widths) == 0;
}
