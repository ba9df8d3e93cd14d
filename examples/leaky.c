/*
 * A small server with a leak, for `make demo`: it answers requests from a cache of sessions. An expired session is
 * taken off its list, but only its name is freed: the session itself and its buffer stay. It serves for 12 seconds, or
 * for the seconds given as argument.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* What the report shall name must not be inlined. */
#define NOINLINE __attribute__((noinline))

enum { BUCKETS = 64, REQUESTS_PER_TICK = 20, TICK_MS = 10, LIFETIME = 50, BUFFER = 512 };

struct session {
    struct session *next;
    char *user;
    char *buffer;
    unsigned long expires;
};

static struct session *cache[BUCKETS];

NOINLINE static void *xmalloc(size_t bytes)
{
    void *block = malloc(bytes);

    if (!block) {
        fprintf(stderr, "leaky: out of memory\n");
        exit(1);
    }
    return block;
}

NOINLINE static struct session *session_new(const char *user, unsigned long now)
{
    struct session *session = xmalloc(sizeof(*session));

    session->user = xmalloc(strlen(user) + 1);
    strcpy(session->user, user);
    session->buffer = xmalloc(BUFFER);
    session->expires = now + LIFETIME;
    return session;
}

/* The bug: the session and its buffer should be freed here as well. */
NOINLINE static void session_drop(struct session *session)
{
    free(session->user);
    session->user = NULL;
}

NOINLINE static void cache_expire(unsigned bucket, unsigned long now)
{
    struct session **place = &cache[bucket];

    while (*place) {
        struct session *session = *place;

        if (session->expires > now) {
            place = &session->next;
            continue;
        }
        *place = session->next;
        session_drop(session);
    }
}

static struct session *cache_find(unsigned bucket, const char *user)
{
    struct session *session = cache[bucket];

    while (session && strcmp(session->user, user) != 0)
        session = session->next;
    return session;
}

NOINLINE static void handle_request(unsigned long id, unsigned long now)
{
    char *request = xmalloc(128);
    unsigned user = (unsigned)(id * 2654435761u) % 1000, bucket = user % BUCKETS;
    struct session *session;

    snprintf(request, 128, "user-%u", user);
    cache_expire(bucket, now);
    session = cache_find(bucket, request);
    if (!session) {
        session = session_new(request, now);
        session->next = cache[bucket];
        cache[bucket] = session;
    }
    snprintf(session->buffer, BUFFER, "request %lu of %s", id, request);
    free(request);
}

NOINLINE static void serve(unsigned seconds)
{
    struct timespec tick = {.tv_nsec = TICK_MS * 1000000L};
    unsigned long ticks = seconds * 1000UL / TICK_MS, id = 0;

    for (unsigned long now = 0; now < ticks; now++) {
        for (int i = 0; i < REQUESTS_PER_TICK; i++)
            handle_request(id++, now);
        nanosleep(&tick, NULL);
    }
}

int main(int argc, char **argv)
{
    serve(argc > 1 ? (unsigned)strtoul(argv[1], NULL, 10) : 12);
    return 0;
}
