/*
 * A program that is busy, for doc/tutorial.md: it counts words in a hash table. With the argument "first" a word's
 * place in the table follows from its first letter alone, so that many words share a place; with "all" from all
 * letters. The second argument says for how many seconds it counts.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define TRACED __attribute__((noinline))

enum { PLACES = 4096, WORDS = 3000, LONGEST = 24 };

struct word {
    struct word *next;
    unsigned long count;
    char text[LONGEST];
};

static struct word *table[PLACES];

/* The word's place in the table, by its first letter. */
TRACED unsigned hash_first(const char *text);
/* By all letters. */
TRACED unsigned hash_all(const char *text);
/* Whether two words are the same. */
TRACED int same(const char *a, const char *b);
/* The entry of the word, which is made if there is none. */
TRACED struct word *find(const char *text, unsigned place);
/* Counts one word. */
TRACED void count_word(const char *text, unsigned (*hash)(const char *));

unsigned hash_first(const char *text)
{
    return (unsigned char)text[0] % PLACES;
}

unsigned hash_all(const char *text)
{
    unsigned hash = 5381;
    while (*text)
        hash = hash * 33 + (unsigned char)*text++;
    return hash % PLACES;
}

int same(const char *a, const char *b)
{
    while (*a && *a == *b)
        a++, b++;
    return *a == *b;
}

struct word *find(const char *text, unsigned place)
{
    for (struct word *word = table[place]; word; word = word->next)
        if (same(word->text, text))
            return word;
    struct word *word = calloc(1, sizeof *word);
    if (!word)
        exit(1);
    snprintf(word->text, sizeof word->text, "%s", text);
    word->next = table[place];
    table[place] = word;
    return word;
}

void count_word(const char *text, unsigned (*hash)(const char *))
{
    find(text, hash(text))->count++;
}

int main(int argc, char **argv)
{
    static char words[WORDS][LONGEST];
    unsigned (*hash)(const char *) = argc > 1 && !strcmp(argv[1], "all") ? hash_all : hash_first;
    time_t end = time(NULL) + (argc > 2 ? atoi(argv[2]) : 10);
    for (unsigned i = 0; i < WORDS; i++)
        snprintf(words[i], LONGEST, "%c-customer-%u", 'a' + i % 3, i);
    unsigned long rounds = 0;
    for (; time(NULL) < end; rounds++)
        for (unsigned i = 0; i < WORDS; i++)
            count_word(words[i], hash);
    printf("%lu words\n", rounds * WORDS);
    return 0;
}
