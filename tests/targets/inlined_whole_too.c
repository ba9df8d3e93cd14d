/* What inlined_whole.c calls, and by a pointer this file 7 times. */
volatile int sink;

int counted(int i)
{
    sink = i;
    return sink + 1;
}

static int (*volatile pointer)(int) = counted;

__attribute__((constructor)) static void call(void)
{
    for (int i = 0; i < 7; i++)
        sink = pointer(i);
}
