/*
 * Traffic lights whose states are known. Each of 7 is 101 times red, green and yellow, one after the other, of which it
 * is red for 200 us and the others for none; then it is red, and stays so; the last one is taken away then. Prints for
 * each how long it was red, green, yellow at least, in ns, and at most, without the last red: by the clock before and
 * after each change.
 */
#include <stdint.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "noinline.h"

enum { LIGHTS = 7, ROUNDS = 101, RED = 0, GREEN = 1, YELLOW = 2, COLOURS = 3, RED_US = 200 };

NOINLINE void turn(int light, int colour)
{
    __asm__ volatile("" : : "r"(light), "r"(colour) : "memory");
}

NOINLINE void take_away(int light)
{
    __asm__ volatile("" : : "r"(light) : "memory");
}

static uint64_t now(void)
{
    struct timespec at;
    clock_gettime(CLOCK_MONOTONIC, &at);
    return (uint64_t)at.tv_sec * 1000000000 + (uint64_t)at.tv_nsec;
}

int main(void)
{
    uint64_t least[LIGHTS][COLOURS] = {{0}}, most[LIGHTS][COLOURS] = {{0}};
    for (int light = 0; light < LIGHTS; light++) {
        uint64_t before = now();
        turn(light, RED);
        uint64_t after = now();
        for (int change = 0; change < ROUNDS * COLOURS; change++) {
            if (change % COLOURS == RED)
                usleep(RED_US);
            uint64_t next_before = now();
            turn(light, (change + 1) % COLOURS);
            uint64_t next_after = now();
            least[light][change % COLOURS] += next_before - after;
            most[light][change % COLOURS] += next_after - before;
            before = next_before;
            after = next_after;
        }
    }
    take_away(LIGHTS - 1);
    for (int light = 0; light < LIGHTS; light++)
        printf("%d %llu %llu %llu %llu %llu %llu\n", light, (unsigned long long)least[light][RED],
               (unsigned long long)least[light][GREEN], (unsigned long long)least[light][YELLOW],
               (unsigned long long)most[light][RED], (unsigned long long)most[light][GREEN],
               (unsigned long long)most[light][YELLOW]);
    return 0;
}
