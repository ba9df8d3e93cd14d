/* Rights that a run needs to begin. */
#include "sys/rights.h"

#include <dirent.h>
#include <errno.h>
#include <grp.h>
#include <linux/audit.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pwd.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "sys/tracefs.h"

/* What older headers lack. */
#ifndef CAP_CHECKPOINT_RESTORE
#define CAP_PERFMON 38
#define CAP_BPF 39
#define CAP_CHECKPOINT_RESTORE 40
#endif

enum { CAPABILITIES = 64 };

static const struct {
    const char *name;
    int number;
} rights[RIGHTS] = {
    [RIGHT_BPF] = {"CAP_BPF", CAP_BPF},
    [RIGHT_PERFMON] = {"CAP_PERFMON", CAP_PERFMON},
    [RIGHT_SYS_PTRACE] = {"CAP_SYS_PTRACE", CAP_SYS_PTRACE},
    [RIGHT_DAC_READ_SEARCH] = {"CAP_DAC_READ_SEARCH", CAP_DAC_READ_SEARCH},
    [RIGHT_SYSLOG] = {"CAP_SYSLOG", CAP_SYSLOG},
    [RIGHT_CHECKPOINT_RESTORE] = {"CAP_CHECKPOINT_RESTORE", CAP_CHECKPOINT_RESTORE},
    [RIGHT_KILL] = {"CAP_KILL", CAP_KILL},
};

const char *right_name(enum right right)
{
    return rights[right].name;
}

struct capabilities {
    struct __user_cap_header_struct header;
    struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3];
};

static int read_capabilities(struct capabilities *own)
{
    *own = (struct capabilities){.header = {.version = _LINUX_CAPABILITY_VERSION_3}};
    return syscall(SYS_capget, &own->header, own->data) ? -errno : 0;
}

unsigned rights_held(void)
{
    struct capabilities own;
    unsigned held = 0;
    if (read_capabilities(&own))
        return 0;
    for (unsigned i = 0; i < RIGHTS; i++)
        if (own.data[CAP_TO_INDEX(rights[i].number)].effective & CAP_TO_MASK(rights[i].number))
            held |= 1u << i;
    return held;
}

/* How many threads this process has, 0 where that cannot be read. */
static unsigned threads(void)
{
    unsigned count = 0;
    DIR *folder = opendir("/proc/self/task");
    if (!folder)
        return 0;
    for (struct dirent *entry; (entry = readdir(folder));)
        count += entry->d_name[0] != '.';
    closedir(folder);
    return count;
}

struct user {
    const char *name; /* NULL: it has but a number */
    uid_t uid;
    gid_t gid;
};

/* The user that TEXT, a name or a number, stands for. 0 or a negative errno. */
static int find_user(const char *text, struct user *user, struct error *err)
{
    char *end;
    errno = 0;
    unsigned long number = strtoul(text, &end, 10);
    bool is_number = *text >= '0' && *text <= '9' && !*end && !errno && number < UINT32_MAX;
    const struct passwd *entry = is_number ? getpwuid((uid_t)number) : getpwnam(text);
    if (!entry && !is_number)
        return error_set(err, -ENOENT, "there is no user '%s'", text);
    *user = entry ? (struct user){entry->pw_name, entry->pw_uid, entry->pw_gid}
                  : (struct user){NULL, (uid_t)number, (gid_t)number};
    return 0;
}

int rights_check_user(const char *user, struct error *err)
{
    struct user found;
    return find_user(user, &found, err);
}

/* Becomes the user that TEXT stands for, and keeps the capabilities that are permitted. */
static int become(const char *text, struct error *err)
{
    struct user user;
    int code = find_user(text, &user, err);
    if (code)
        return code;
    if (prctl(PR_SET_KEEPCAPS, 1) || (user.name ? initgroups(user.name, user.gid) : setgroups(0, NULL)) ||
        setresgid(user.gid, user.gid, user.gid) || setresuid(user.uid, user.uid, user.uid))
        return error_set(err, -errno, "this process cannot become the user '%s': %s", text, error_reason(errno));
    return 0;
}

/* Sets in WORDS, as the kernel has capabilities, the bit of each right of KEPT. */
static void set_bits(unsigned kept, uint32_t words[_LINUX_CAPABILITY_U32S_3])
{
    for (unsigned i = 0; i < RIGHTS; i++)
        if (kept & 1u << i)
            words[CAP_TO_INDEX(rights[i].number)] |= CAP_TO_MASK(rights[i].number);
}

/* Lets programs that are executed have no capability but those in WORDS. Without CAP_SETPCAP that is left to
 * no_new_privs. */
static void bound_capabilities(const uint32_t words[_LINUX_CAPABILITY_U32S_3])
{
    for (unsigned number = 0; number < CAPABILITIES && prctl(PR_CAPBSET_READ, number) >= 0; number++)
        if (!(words[CAP_TO_INDEX(number)] & CAP_TO_MASK(number)))
            prctl(PR_CAPBSET_DROP, number);
}

/* Leaves the capabilities in WORDS, of those that are permitted. */
static int keep_capabilities(const uint32_t words[_LINUX_CAPABILITY_U32S_3], struct error *err)
{
    struct capabilities own;
    int code = read_capabilities(&own);
    prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
    for (size_t i = 0; i < _LINUX_CAPABILITY_U32S_3; i++) {
        own.data[i].permitted &= words[i];
        own.data[i].effective = own.data[i].permitted;
        own.data[i].inheritable = 0;
    }
    if (!code && syscall(SYS_capset, &own.header, own.data))
        code = -errno;
    return code ? error_set(err, code, "rights cannot be given up: capset: %s", error_reason(code)) : 0;
}

/*
 * CAP_SYS_PTRACE is for reading what /proc has of other processes. What else it allows is refused: to trace them, to
 * write to them, and to take their descriptors.
 */
static int refuse_tracing(struct error *err)
{
#define LOAD(field) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))
#define REFUSE BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM)
#define REFUSE_CALL(number) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1), REFUSE
#if defined __x86_64__
    enum { ARCHITECTURE = AUDIT_ARCH_X86_64, OTHER_INTERFACE = 0x40000000 }; /* x32 */
#else
    enum { ARCHITECTURE = AUDIT_ARCH_AARCH64, OTHER_INTERFACE = 0x7fffffff };
#endif
    struct sock_filter filter[] = {
        LOAD(arch),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ARCHITECTURE, 1, 0),
        REFUSE,
        LOAD(nr),
        BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, OTHER_INTERFACE, 0, 1),
        REFUSE,
        REFUSE_CALL(SYS_ptrace),
        REFUSE_CALL(SYS_process_vm_writev),
        REFUSE_CALL(SYS_pidfd_getfd),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {.len = sizeof filter / sizeof *filter, .filter = filter};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
        return error_set(err, -errno, "rights cannot be given up: no_new_privs: %s", error_reason(errno));
    /* A kernel without seccomp (EINVAL) has no other way to refuse them. */
    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) && errno != EINVAL)
        return error_set(err, -errno, "rights cannot be given up: seccomp: %s", error_reason(errno));
    return 0;
}

int rights_drop(unsigned kept, const char *user, struct error *err)
{
    unsigned count = threads();
    if (!count)
        return error_set(err, -ENOENT, "rights cannot be given up: /proc/self/task cannot be read");
    if (count > 1)
        return error_set(err, -EAGAIN, "rights cannot be given up: a thread is running that would keep its own");
    tracefs_open(); /* a script that is loaded again may need it, and mounting it takes CAP_SYS_ADMIN */
    uint32_t words[_LINUX_CAPABILITY_U32S_3] = {0};
    set_bits(kept, words);
    bound_capabilities(words); /* while there is CAP_SETPCAP, which another user does not have */
    int code = user ? become(user, err) : 0;
    if (!code)
        code = keep_capabilities(words, err);
    return code ? code : refuse_tracing(err);
}
