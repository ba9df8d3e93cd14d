/*
 * A change of a process's mappings gives it a new generation, under which the kernel's half remembers rules; so nothing
 * stale is ever found. Tables are written before the mappings that name them.
 */
#include "unwind/unwinder.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "arch/arch.h"
#include "base/array.h"
#include "sym/image.h"
#include "sys/state_folder.h"
#include "unwind/cache.h"
#include "unwind/file_numbers.h"
#include "unwind/kernel_layout.h"
#include "unwind/slabs.h"
#include "unwind/table.h"

enum {
    RECALLED_BYTES = 8 << 20,            /* of tables that earlier runs have left */
    RECALL_PATIENCE = 100 * 1000 * 1000, /* ns at most that a command waits for them; all take 7 ms of a CPU */
    SPARE_CHUNKS = 1 << 11,              /* in their slab, for tables that this run makes */
};

/* A table that is built and not yet in the kernel. */
struct pending {
    struct unwind_table table;
    uint32_t number; /* its file's */
};

/* A file whose table comes from an earlier run. */
struct recalled {
    struct unwind_identity identity;
    uint32_t number; /* the file's; 0: there is no table */
};

struct unwinder {
    struct symbols *symbols;
    struct unwinder_maps maps;
    bool everybody;
    int cache; /* the folder of tables, -1: none */
    struct unwind_rules rules;
    size_t rules_written;
    uint64_t *kernel_rules;      /* the map, mapped */
    struct unwind_place *places; /* the map, mapped */
    struct slabs slabs;
    struct file_numbers numbers;
    struct ring_buffer *wanted;
    struct unwind_kernel *kernel; /* the map, mapped */
    uint32_t generation;
    uint64_t *pids; /* those that the kernel knows, or has asked for, ascending */
    size_t pid_count, pid_capacity;
    struct unwind_process process; /* in the making */
    struct pending pending[UNWIND_MAPPINGS];
    size_t pending_count;
    struct unwind_cached *cached; /* what is to be recalled … */
    struct recalled *recalled;    /* … and what was: by the same index */
    size_t cached_count, recalled_count;
    struct unwinder_counts counts;
    /* The thread that recalls, and the lock of whatever tables are: rules, places, slabs, numbers, pending,
     * recalled, counts. */
    pthread_t thread;
    pthread_mutex_t lock;
    bool recalls; /* the thread is to be joined */
    atomic_bool stops;
};

/* How many of the known processes have a number up to PID. */
static size_t up_to(const struct unwinder *unwinder, pid_t pid)
{
    return array_up_to(unwinder->pids, unwinder->pid_count, sizeof *unwinder->pids, (uint64_t)pid);
}

static bool is_loaded(const struct unwinder *unwinder, pid_t pid)
{
    size_t count = up_to(unwinder, pid);
    return count && unwinder->pids[count - 1] == (uint64_t)pid;
}

static void remember(struct unwinder *unwinder, pid_t pid)
{
    if (is_loaded(unwinder, pid))
        return;
    if (!array_room(&unwinder->pids, unwinder->pid_count, &unwinder->pid_capacity, sizeof *unwinder->pids))
        return;
    size_t at = up_to(unwinder, pid);
    memmove(unwinder->pids + at + 1, unwinder->pids + at, (unwinder->pid_count - at) * sizeof *unwinder->pids);
    unwinder->pids[at] = (uint64_t)pid;
    unwinder->pid_count++;
}

/* To be called behind each change of the map of processes: the kernel's half looks into it again. */
static void write_change(struct unwinder *unwinder)
{
    __atomic_fetch_add(&unwinder->kernel->changes, 1, __ATOMIC_SEQ_CST);
}

static void forget(struct unwinder *unwinder, pid_t pid)
{
    if (!is_loaded(unwinder, pid))
        return;
    uint32_t key = (uint32_t)pid;
    bpf_map_delete_elem(unwinder->maps.early, &key);
    if (!bpf_map_delete_elem(unwinder->maps.process, &key))
        write_change(unwinder);
    size_t after = up_to(unwinder, pid);
    memmove(unwinder->pids + after - 1, unwinder->pids + after, (unwinder->pid_count - after) * sizeof *unwinder->pids);
    unwinder->pid_count--;
}

static int build(void *context, const struct elf_file *elf, const struct debug_file_search *search)
{
    struct unwinder *unwinder = context;
    struct unwind_table *table = &unwinder->pending[unwinder->pending_count].table;
    if (elf->machine != arch_cpu.elf_machine)
        return -ENODATA;
    if (unwinder->cache >= 0 && unwind_cache_load(unwinder->cache, elf, &unwinder->rules, table))
        return 0;
    int rc = unwind_table_build(table, elf, search, &unwinder->rules, NULL);
    if (!rc && unwinder->cache >= 0 && elf->stat.st_nlink) /* neither deleted nor a copy of the vDSO */
        unwind_cache_store(unwinder->cache, elf, &unwinder->rules, table);
    return rc;
}

/* IMAGE is the file NUMBER; 0: no number is left. */
static void set_number(struct unwinder *unwinder, struct image *image, uint32_t number)
{
    image_set_number(image, number ? (int)number : -1);
    if (number)
        symbols_number(unwinder->symbols, number, image, NULL);
    else
        unwinder->counts.failures++;
}

/* The FILE of IMAGE, which has NUMBER, is as it is told now: it may have another link, another owner. */
static void write_file(struct unwinder *unwinder, struct image *image, const struct kernel_file *file, uint32_t number)
{
    uint32_t other = file_numbers_set(&unwinder->numbers, file, number);
    if (!other)
        return;
    symbols_number(unwinder->symbols, other, image, NULL);
    unwinder->places[other] = unwinder->places[number];
}

/* The table of the file of IDENTITY that an earlier run has left; NULL: there is none. */
static const struct recalled *find_recalled(const struct unwinder *unwinder, const struct unwind_identity *identity)
{
    for (size_t i = 0; i < unwinder->recalled_count; i++)
        if (unwinder->recalled[i].number && !memcmp(&unwinder->recalled[i].identity, identity, sizeof *identity))
            return &unwinder->recalled[i];
    return NULL;
}

/* The file of IDENTITY, whose mappings have DEVICE and INODE. */
static struct kernel_file kernel_file_of(const struct unwind_identity *identity, uint64_t device, uint64_t inode)
{
    return (struct kernel_file){
        .device = device,
        .inode = inode,
        .changed = {identity->changed[0], identity->changed[1]},
        .written = {identity->modified[0], identity->modified[1]},
    };
}

static void build_table(struct unwinder *unwinder, struct image *image, uint64_t device, uint64_t inode)
{
    if (!image || unwinder->pending_count == UNWIND_MAPPINGS)
        return;
    struct unwind_identity identity = unwind_identity_of(image_stat(image));
    struct kernel_file file = kernel_file_of(&identity, device, inode);
    int known = image_number(image);
    if (known > 0)
        write_file(unwinder, image, &file, (uint32_t)known);
    if (known)
        return;
    const struct recalled *recalled = find_recalled(unwinder, &identity);
    if (recalled) {
        set_number(unwinder, image, recalled->number);
        write_file(unwinder, image, &file, recalled->number);
        unwind_cache_note(unwinder->cache, unwinder->cached[recalled - unwinder->recalled].name);
        return;
    }
    int rc = image_read(image, build, unwinder);
    if (rc && kernel_device(device) == unwinder->kernel->memory_device) { /* code of a process's own: it is no file's */
        image_set_number(image, -1);
        return;
    }
    uint32_t number = file_numbers_get(&unwinder->numbers, &file);
    set_number(unwinder, image, number);
    if (!rc && number && !strcmp(image_module(image), "[vdso]"))
        unwinder->kernel->vdso = number;
    if (!rc && number)
        unwinder->pending[unwinder->pending_count++].number = number;
    else if (!rc)
        unwind_table_free(&unwinder->pending[unwinder->pending_count].table);
    else if (number)
        unwinder->places[number].state = UNWIND_SEEN;
}

/* TABLE, whose chunks stand at the beginning of the slabs' room, is that of file NUMBER from now on. */
static void write_table(struct unwinder *unwinder, const struct unwind_table *table, uint32_t number)
{
    for (; unwinder->rules_written < unwinder->rules.count; unwinder->rules_written++)
        unwinder->kernel_rules[unwinder->rules_written] = unwinder->rules.items[unwinder->rules_written];
    struct unwind_place *place = &unwinder->places[number];
    place->slab = (uint16_t)slabs_take(&unwinder->slabs, unwind_table_chunks(table), &place->first);
    place->start_block = (uint32_t)(table->start >> UNWIND_BLOCK_SHIFT);
    place->block_count = table->block_count;
    __atomic_store_n(&place->state, UNWIND_SEEN, __ATOMIC_RELEASE); /* the kernel's half may look at it already */
    unwinder->counts.tables++;
    unwinder->counts.rows += table->row_count;
    unwinder->counts.bytes += unwind_table_chunks(table) * sizeof *table->chunks;
}

/* Writes the tables that were built, and the rules that they use, into the kernel's maps. */
static void write_tables(struct unwinder *unwinder)
{
    size_t chunks = 0;
    for (size_t i = 0; i < unwinder->pending_count; i++)
        chunks += unwind_table_chunks(&unwinder->pending[i].table);
    int rc = chunks ? slabs_reserve(&unwinder->slabs, chunks) : 0;
    for (size_t i = 0; i < unwinder->pending_count; i++) {
        struct pending *pending = &unwinder->pending[i];
        if (!rc) {
            memcpy(slabs_room(&unwinder->slabs), pending->table.chunks,
                   unwind_table_chunks(&pending->table) * sizeof *pending->table.chunks);
            write_table(unwinder, &pending->table, pending->number);
        } else {
            unwinder->places[pending->number].state = UNWIND_SEEN;
            unwinder->counts.failures++;
        }
        unwind_table_free(&pending->table);
    }
    unwinder->pending_count = 0;
}

/* The number of the file that MAPPING is of; 0: it has none. */
static uint32_t number_of(const struct unwinder *unwinder, const struct mapping *mapping)
{
    int number = mapping->image ? image_number(mapping->image) : 0;
    if (!mapping->image && mapping->executable && mapping->inode)
        return file_numbers_find(&unwinder->numbers, mapping->device, mapping->inode);
    return number > 0 ? (uint32_t)number : 0;
}

/* The executable mappings of MAPS for the kernel; of too many only those OF_FILES. Their number. */
static size_t list_mappings(struct unwinder *unwinder, const struct maps *maps, bool of_files)
{
    size_t count = 0;
    for (size_t i = 0; i < maps->count; i++) {
        const struct mapping *mapping = &maps->items[i];
        uint32_t number = number_of(unwinder, mapping);
        if (!mapping->executable || mapping->gone || (of_files && !number))
            continue;
        if (mapping->start >= UNWIND_NO_START) /* [vsyscall], in the kernel's half of addresses */
            continue;
        if (count < UNWIND_MAPPINGS)
            unwinder->process.mappings[count] = (struct unwind_mapping){
                .start = mapping->start,
                .pages = (uint32_t)((mapping->end - mapping->start) >> UNWIND_PAGE_SHIFT),
                .offset = mapping->inode ? (uint32_t)(mapping->offset >> UNWIND_PAGE_SHIFT) : 0,
                .number = number,
            };
        count++;
    }
    for (size_t i = count; i < UNWIND_MAPPINGS; i++)
        unwinder->process.mappings[i] = (struct unwind_mapping){.start = UNWIND_NO_START};
    return count;
}

/*
 * Writes what the kernel is to know of process PID. The map's elements come from a pool of the CPU, which holds few of
 * this size and is filled again a moment later (bpf_mem_alloc, Linux 6.1): until then there is "no memory".
 */
static int write_process(const struct unwinder *unwinder, pid_t pid)
{
    enum { PATIENCE = 100, PAUSE = 100 * 1000 };
    uint32_t key = (uint32_t)pid;
    int rc = -ENOMEM;
    for (int i = 0; i < PATIENCE && rc == -ENOMEM; i++) {
        if (i)
            nanosleep(&(struct timespec){.tv_nsec = PAUSE}, NULL);
        rc = bpf_map_update_elem(unwinder->maps.process, &key, &unwinder->process, BPF_ANY);
    }
    return rc;
}

/* The file that cannot be opened any more, and that MAPPING is of, has its name only. */
static void name_file(struct unwinder *unwinder, const struct mapping *mapping)
{
    uint32_t number = mapping->inode ? file_numbers_find(&unwinder->numbers, mapping->device, mapping->inode) : 0;
    if (number)
        symbols_number(unwinder->symbols, number, NULL, mapping->path);
}

/* Makes the tables of all that MAPS has or had: what a process executed for a moment the next one executes again. */
static void build_tables(struct unwinder *unwinder, const struct maps *maps)
{
    pthread_mutex_lock(&unwinder->lock);
    for (size_t i = 0; i < maps->count; i++)
        if (maps->items[i].executable && maps->items[i].image)
            build_table(unwinder, maps->items[i].image, maps->items[i].device, maps->items[i].inode);
        else if (maps->items[i].executable)
            name_file(unwinder, &maps->items[i]);
    write_tables(unwinder);
    pthread_mutex_unlock(&unwinder->lock);
}

static void load(struct unwinder *unwinder, pid_t pid, const struct maps *maps)
{
    build_tables(unwinder, maps);
    pthread_mutex_lock(&unwinder->lock);
    size_t count = list_mappings(unwinder, maps, false);
    if (count > UNWIND_MAPPINGS)
        count = list_mappings(unwinder, maps, true);
    unwinder->process.known = maps->known;
    unwinder->process.generation = ++unwinder->generation;
    unwinder->process.asked = 0;
    int rc = write_process(unwinder, pid);
    /* What more there is the kernel's half finds by itself, file by file, where it knows its own kernel. */
    unwinder->counts.failures += rc != 0 || (count > UNWIND_MAPPINGS && !unwinder->kernel->file_inode);
    pthread_mutex_unlock(&unwinder->lock);
    write_change(unwinder);
    if (!rc)
        remember(unwinder, pid);
}

/* How many chunks the table in ENTRY has at most. */
static size_t chunks_in(const struct unwind_cached *entry)
{
    return (size_t)entry->size / sizeof(struct unwind_chunk) + 1;
}

/* Loads the table of ENTRY, for which there is room in the slabs. */
static void recall(struct unwinder *unwinder, const struct unwind_cached *entry, struct recalled *recalled)
{
    struct unwind_identity *identity = &recalled->identity;
    struct unwind_table table;
    if (!unwind_cache_read(unwinder->cache, entry, &unwinder->rules, slabs_room(&unwinder->slabs), identity, &table))
        return;
    struct kernel_file file = kernel_file_of(identity, identity->device, identity->inode);
    recalled->number = file_numbers_get(&unwinder->numbers, &file);
    if (recalled->number)
        write_table(unwinder, &table, recalled->number);
    else
        unwinder->counts.failures++;
}

/* A thread: loads what earlier runs have left, one file after the other, into one slab. */
static void *recall_all(void *context)
{
    struct unwinder *unwinder = context;
    size_t left = 0;
    for (size_t i = 0; i < unwinder->cached_count; i++)
        left += chunks_in(&unwinder->cached[i]);
    pthread_mutex_lock(&unwinder->lock);
    int rc = slabs_reserve(&unwinder->slabs, left + SPARE_CHUNKS);
    pthread_mutex_unlock(&unwinder->lock);
    for (size_t i = 0; !rc && i < unwinder->cached_count && !atomic_load(&unwinder->stops); i++) {
        pthread_mutex_lock(&unwinder->lock);
        rc = slabs_reserve(&unwinder->slabs, left); /* there is room still, unless others have taken it */
        if (!rc)
            recall(unwinder, &unwinder->cached[i], &unwinder->recalled[i]);
        left -= chunks_in(&unwinder->cached[i]);
        unwinder->recalled_count = i + 1;
        pthread_mutex_unlock(&unwinder->lock);
    }
    return NULL;
}

void unwinder_recall(struct unwinder *unwinder)
{
    /* Where the kernel's half cannot tell a file from another one that has its inode now, it waits for whoever maps
     * it. */
    if (unwinder->cache < 0 || unwinder->recalled || !unwinder->kernel->inode_seconds)
        return;
    unwinder->cached_count = unwind_cache_list(unwinder->cache, RECALLED_BYTES, &unwinder->cached);
    unwinder->recalled = calloc(unwinder->cached_count + 1, sizeof *unwinder->recalled);
    if (!unwinder->recalled || !unwinder->cached_count)
        return;
    sigset_t all, before; /* signals are for the first thread */
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    unwinder->recalls = pthread_create(&unwinder->thread, NULL, recall_all, unwinder) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

void unwinder_await(struct unwinder *unwinder)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += RECALL_PATIENCE;
    if (until.tv_nsec >= 1000000000) {
        until.tv_nsec -= 1000000000;
        until.tv_sec++;
    }
    if (unwinder->recalls && !pthread_timedjoin_np(unwinder->thread, NULL, &until))
        unwinder->recalls = false;
}

void unwinder_add_file(struct unwinder *unwinder, const char *path)
{
    struct image *image = symbols_keep_file(unwinder->symbols, path);
    pthread_mutex_lock(&unwinder->lock);
    if (image)
        build_table(unwinder, image, image_stat(image)->st_dev, image_stat(image)->st_ino);
    write_tables(unwinder);
    pthread_mutex_unlock(&unwinder->lock);
}

static void on_change(void *context, pid_t pid, const struct maps *maps, enum symbols_change change)
{
    struct unwinder *unwinder = context;
    if (unwinder->everybody && !is_loaded(unwinder, pid) && change != SYMBOLS_ASKED)
        return;
    if (change == SYMBOLS_MAPPED)
        load(unwinder, pid, maps);
    else if (maps)
        build_tables(unwinder, maps);
    if (change == SYMBOLS_EXITED)
        forget(unwinder, pid);
}

static int on_wanted(void *context, void *data, size_t size)
{
    uint32_t pid;
    if (size >= sizeof pid) {
        memcpy(&pid, data, sizeof pid);
        struct unwinder *unwinder = context;
        if (is_loaded(unwinder, (pid_t)pid)) {
            symbols_read(unwinder->symbols, (pid_t)pid);
        } else {
            remember(unwinder, (pid_t)pid);
            symbols_tell(unwinder->symbols, (pid_t)pid);
        }
    }
    return 0;
}

int unwinder_fd(const struct unwinder *unwinder)
{
    return ring_buffer__epoll_fd(unwinder->wanted);
}

void unwinder_update(struct unwinder *unwinder)
{
    symbols_update(unwinder->symbols);
    ring_buffer__consume(unwinder->wanted);
}

bool unwinder_sees_changes(const struct unwinder *unwinder)
{
    return unwinder->kernel->space_state != 0;
}

struct unwinder_counts unwinder_counts(struct unwinder *unwinder)
{
    pthread_mutex_lock(&unwinder->lock);
    struct unwinder_counts counts = unwinder->counts;
    pthread_mutex_unlock(&unwinder->lock);
    return counts;
}

static void *map_array(int fd, size_t size)
{
    void *mapped = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    return mapped == MAP_FAILED ? NULL : mapped;
}

/* The device of files that have no place in any folder; 0: not known. */
static uint32_t memory_device(void)
{
    struct stat stat;
    int fd = memfd_create("uplua", MFD_CLOEXEC);
    bool known = fd >= 0 && !fstat(fd, &stat);
    if (fd >= 0)
        close(fd);
    return known ? kernel_device(stat.st_dev) : 0;
}

static void write_kernel(struct unwinder *unwinder)
{
    struct unwind_kernel *kernel = unwinder->kernel;
    kernel->code_mask = arch_code_mask();
    kernel->listening = 1;
    kernel->memory_device = memory_device();
    kernel->page_shift = (uint32_t)__builtin_ctzl((unsigned long)sysconf(_SC_PAGESIZE));
    kernel_layout_read(kernel);
    write_change(unwinder);
}

int unwinder_new(struct unwinder **result, struct symbols *symbols, const struct unwinder_maps *maps, bool everybody,
                 struct error *err)
{
    struct unwinder *unwinder = *result = calloc(1, sizeof *unwinder);
    if (!unwinder || unwind_rules_init(&unwinder->rules)) {
        free(unwinder);
        *result = NULL;
        return error_set(err, -ENOMEM, "unwind tables: out of memory");
    }
    pthread_mutex_init(&unwinder->lock, NULL);
    unwinder->symbols = symbols;
    unwinder->maps = *maps;
    unwinder->everybody = everybody;
    unwinder->cache = state_folder_open();
    unwinder->slabs.map = maps->slabs;
    unwinder->numbers.map = maps->files;
    unwinder->kernel_rules = map_array(maps->rules, RULE_NUMBERS * sizeof *unwinder->kernel_rules);
    unwinder->places = map_array(maps->tables, UNWIND_TABLES * sizeof *unwinder->places);
    unwinder->kernel = map_array(maps->kernel, sizeof *unwinder->kernel);
    unwinder->wanted = ring_buffer__new(maps->wanted, on_wanted, unwinder, NULL);
    if (!unwinder->kernel_rules || !unwinder->places || !unwinder->kernel || !unwinder->wanted) {
        int rc = -errno;
        unwinder_free(unwinder);
        *result = NULL;
        return error_set(err, rc, "unwind tables: cannot map the kernel's: %s", error_reason(rc));
    }
    write_kernel(unwinder);
    unwinder->numbers.kernel = unwinder->kernel;
    symbols_watch(symbols, on_change, unwinder);
    return 0;
}

void unwinder_free(struct unwinder *unwinder)
{
    if (!unwinder)
        return;
    symbols_watch(unwinder->symbols, NULL, NULL);
    atomic_store(&unwinder->stops, true);
    if (unwinder->recalls)
        pthread_join(unwinder->thread, NULL);
    pthread_mutex_destroy(&unwinder->lock);
    ring_buffer__free(unwinder->wanted);
    slabs_free(&unwinder->slabs);
    if (unwinder->kernel_rules)
        munmap(unwinder->kernel_rules, RULE_NUMBERS * sizeof *unwinder->kernel_rules);
    if (unwinder->places)
        munmap(unwinder->places, UNWIND_TABLES * sizeof *unwinder->places);
    if (unwinder->kernel)
        munmap(unwinder->kernel, sizeof *unwinder->kernel);
    unwind_rules_free(&unwinder->rules);
    free(unwinder->recalled);
    free(unwinder->cached);
    if (unwinder->cache >= 0)
        close(unwinder->cache);
    free(unwinder->pids);
    free(unwinder);
}
