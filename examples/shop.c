/*
 * The program that the manual's examples trace: a shop in which 23 customers give 101 orders, the same ones in every
 * run.
 */
#include <stdio.h>
#include <string.h>

#include "usdt.h"

#define TRACED __attribute__((noinline))

struct address {
    const char *street;
    unsigned short house;
};

struct order {
    struct order *previous; /* of the same customer */
    long id;
    unsigned price; /* in cents, of one piece */
    short discount; /* in cents; below 0 it is a charge */
    unsigned char parcels[3];
    unsigned express : 1, weight : 7;
    struct address to;
    char article[12];
};

enum { CUSTOMERS = 23, ORDERS = 101 };

static struct order orders[ORDERS];
static struct order *last[CUSTOMERS];

/* What the order costs in cents; -1 for an order of nothing. */
TRACED int sell(struct order *order, int customer, long pieces);
/* A number that changes with any byte of TEXT. */
TRACED unsigned long checksum(const char *text, unsigned long length);
/* Drives to STOPS houses, one after the other; returns how many of them are far. */
TRACED int deliver(const char *street, int stops);

int sell(struct order *order, int customer, long pieces)
{
    order->previous = last[customer];
    last[customer] = order;
    return pieces ? (int)(order->price * pieces) - order->discount : -1;
}

unsigned long checksum(const char *text, unsigned long length)
{
    unsigned long sum = 5381;
    for (unsigned long i = 0; i < length; i++)
        sum = sum * 33 ^ (unsigned char)text[i];
    return sum;
}

int deliver(const char *street, int stops)
{
    if (!stops)
        return 0;
    int far = deliver(street, stops - 1);
    return far + (stops > 2);
}

int main(void)
{
    static const char *const streets[] = {"Elm Street", "Abbey Road", "Rue de Rivoli"};
    static const char *const articles[] = {"tea", "coffee", "cups", "a teapot"};
    long income = 0;
    unsigned long receipts = 0;
    for (int i = 0; i < ORDERS; i++) {
        int customer = i % CUSTOMERS;
        struct order *order = &orders[i];
        *order = (struct order){
            .id = 1000 + i,
            .price = 100 + 10 * (unsigned)(i % 5),
            .discount = (short)(i % 3 - 1),
            .parcels = {1, (unsigned char)(i % 2), (unsigned char)(200 + i % 50)},
            .express = i % 4 == 0,
            .weight = (unsigned)(i % 100),
            .to = {streets[i % 3], (unsigned short)(65500 + i % 7)},
        };
        strcpy(order->article, articles[i % 4]);
        int price = sell(order, customer, i % 7);
        if (price > 0) {
            __asm__ volatile(USDT("shop", "sold", "-8@%0 8@%1 -4@%2")::"nor"(order->id), "nor"(order->article),
                             "nor"(price));
            receipts ^= checksum(order->article, strlen(order->article));
            deliver(order->to.street, i % 4);
            income += price;
        }
    }
    printf("%d orders, income %ld.%02ld, receipts %lx\n", ORDERS, income / 100, income % 100, receipts);
    return 0;
}
