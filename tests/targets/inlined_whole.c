/* A function that another file's loop inlines, where the linker or the compiler optimises the whole program: 23 times.
 */
int counted(int i);
volatile int sum;

int main(void)
{
    for (int i = 0; i < 23; i++)
        sum = sum + counted(i);
    return 0;
}
