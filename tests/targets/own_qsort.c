/* Has a qsort of its own, as programs have allocators of their own, and calls it 23 times. */
#include <stddef.h>
#include <stdio.h>

void qsort(void *base, size_t count, size_t size, int (*compare)(const void *, const void *))
{
    int *numbers = base;
    for (size_t i = 1; i < count; i++)
        for (size_t k = i; k > 0 && compare(&numbers[k - 1], &numbers[k]) > 0; k--) {
            int number = numbers[k];
            numbers[k] = numbers[k - 1];
            numbers[k - 1] = number;
        }
    (void)size;
}

static int by_number(const void *a, const void *b)
{
    return *(const int *)a - *(const int *)b;
}

int main(void)
{
    for (int i = 0; i < 23; i++) {
        int numbers[] = {i, 3, 101, 2};
        qsort(numbers, 4, sizeof *numbers, by_number);
        printf("%d\n", numbers[0]);
    }
    return 0;
}
