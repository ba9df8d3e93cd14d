/* Timelines: events of Chrome's JSON through a buffer into a file that stays readable, whenever it ends. */
#include "sys/timeline.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Between two events, and behind the last one. A line end is nowhere else: JSON has none in texts. */
static const char BETWEEN[] = ",\n", END[] = "\n]\n";
enum { BUFFER = 256 << 10, BETWEEN_SIZE = sizeof(BETWEEN) - 1, END_SIZE = sizeof(END) - 1, PAGE = 4096 };

/* The most that the numbers and the names of an event's members take: two numbers of 20 digits, a sign and a point. */
enum { NUMBERS = 96 };

struct timeline {
    int fd;
    int failed;    /* the negative errno of a write */
    bool full;     /* SIZE is reached */
    bool ended;    /* the array's end is in the buffer */
    uint64_t lost; /* events that a failed write has lost */
    uint64_t size; /* bytes that the file may have, its end included */
    uint64_t written;
    size_t used;
    char buffer[BUFFER];
};

struct timeline *timeline_open(const char *path, uint64_t size)
{
    struct timeline *timeline = malloc(sizeof(*timeline));
    if (!timeline)
        return NULL;
    timeline->fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (timeline->fd < 0) {
        free(timeline);
        return NULL;
    }
    timeline->failed = 0;
    timeline->full = timeline->ended = false;
    timeline->lost = timeline->written = 0;
    timeline->size = size;
    timeline->buffer[0] = '[';
    timeline->used = 1;
    return timeline;
}

static char *put(char *to, const char *text, size_t size)
{
    memcpy(to, text, size);
    return to + size;
}

#define PUT(to, text) put(to, text, sizeof(text) - 1)

/* NS as microseconds with three decimals: 1234567 → 1234.567. */
static char *put_us(char *to, int64_t ns)
{
    char digits[24], *at = digits + sizeof(digits);
    uint64_t rest = ns < 0 ? -(uint64_t)ns : (uint64_t)ns;
    for (int i = 0; i < 3; i++, rest /= 10)
        *--at = (char)('0' + rest % 10);
    *--at = '.';
    do
        *--at = (char)('0' + rest % 10);
    while (rest /= 10);
    if (ns < 0)
        *--at = '-';
    return put(to, at, (size_t)(digits + sizeof(digits) - at));
}

/* Writes SIZE bytes; returns how many have gone. The reason why not all is in `failed`. */
static size_t write_all(struct timeline *timeline, const char *bytes, size_t size)
{
    size_t done = 0;
    while (done < size) {
        ssize_t n = write(timeline->fd, bytes + done, size - done);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0) {
            timeline->failed = n < 0 ? -errno : -EIO;
            break;
        }
        done += (size_t)n;
    }
    return done;
}

/* The number of events that begin in the SIZE bytes at BYTES: each stands behind a line end. */
static uint64_t events_in(const char *bytes, size_t size)
{
    uint64_t count = 0;
    for (const char *at = bytes; (at = memchr(at, '\n', size - (size_t)(at - bytes))); at++)
        count++;
    return count;
}

/* The end of the last event that lies in the first SIZE bytes of the buffer; 0: none ends there. */
static size_t last_end(const struct timeline *timeline, size_t size)
{
    while (size > 0 && timeline->buffer[size - 1] != '\n')
        size--;
    return size >= BETWEEN_SIZE ? size - BETWEEN_SIZE : 0;
}

/*
 * A write has failed behind DONE bytes of the buffer. The file ends with the last whole event that it has room for, and
 * with the array's end: on a full disk that takes the room of what is cut off. Where even this cannot be written, the
 * array has no end, which viewers accept.
 */
static void end_early(struct timeline *timeline, size_t done)
{
    int reason = timeline->failed;
    size_t events = timeline->used - (timeline->ended ? END_SIZE : 0), first = timeline->written == 0; /* the [ */
    size_t keep = done < events ? done : events;
    do {
        keep = last_end(timeline, keep);
        keep = keep > first ? keep : first;
        if (ftruncate(timeline->fd, (off_t)(timeline->written + keep)) ||
            lseek(timeline->fd, (off_t)(timeline->written + keep), SEEK_SET) < 0)
            break; /* a pipe, or a device */
        if (write_all(timeline, END, END_SIZE) == END_SIZE)
            break;
        keep = keep > PAGE + first ? keep - PAGE : first;
    } while (keep > first);
    timeline->lost += events_in(timeline->buffer + keep, events - keep);
    timeline->failed = reason;
    timeline->used = 0;
}

int timeline_flush(struct timeline *timeline)
{
    if (timeline->failed)
        return timeline->failed;
    size_t done = write_all(timeline, timeline->buffer, timeline->used);
    if (timeline->failed) {
        end_early(timeline, done);
        return timeline->failed;
    }
    timeline->written += done;
    timeline->used = 0;
    return 0;
}

int timeline_event(struct timeline *timeline, const char *head, size_t head_size, int64_t at, int64_t length,
                   const char *args, size_t args_size)
{
    if (timeline->failed || timeline->full)
        return timeline->failed;
    size_t most = head_size + args_size + NUMBERS;
    if (most > BUFFER)
        return TIMELINE_TOO_LONG;
    if (timeline->written + timeline->used + most + END_SIZE > timeline->size) {
        timeline->full = true;
        return 0;
    }
    if (timeline->used + most > BUFFER && timeline_flush(timeline))
        return timeline->failed;
    char *to = timeline->buffer + timeline->used;
    if (timeline->written + timeline->used == 1)
        to = put(to, BETWEEN + 1, 1);
    else
        to = put(to, BETWEEN, BETWEEN_SIZE);
    to = put_us(put(to, head, head_size), at);
    if (length >= 0)
        to = put_us(PUT(to, ",\"dur\":"), length);
    if (args_size)
        to = put(PUT(to, ",\"args\":"), args, args_size);
    *to++ = '}';
    timeline->used = (size_t)(to - timeline->buffer);
    return 1;
}

int timeline_close(struct timeline *timeline, uint64_t *lost)
{
    if (!timeline->failed && timeline->used + END_SIZE > BUFFER)
        timeline_flush(timeline);
    if (!timeline->failed) {
        memcpy(timeline->buffer + timeline->used, END, END_SIZE);
        timeline->used += END_SIZE;
        timeline->ended = true;
        timeline_flush(timeline);
    }
    *lost = timeline->lost;
    int result = timeline->failed;
    if (close(timeline->fd) && !result)
        result = -errno;
    free(timeline);
    return result;
}
