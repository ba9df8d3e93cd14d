/*
 * Unwind tables as both sides see them: rules of 64 bits, and rows that say from which offset in a file on a rule
 * holds.
 *
 * A rule says how a caller's registers come from a frame's. CFA, the canonical frame address of DWARF, is the stack
 * pointer that the caller has once the call is over.
 *
 *   bits 0–2   how the CFA is found (enum rule_kind)
 *   bits 3–7   the base register, by its DWARF number
 *   bits 8–22  where the return address is, signed, in units of 8 bytes from the CFA; 0: in the link register (aarch64)
 *   bit 23     RULE_GUESSED
 *   bits 24–39 where the caller's frame pointer is saved, the same way; 0: still in its register
 *   bits 40–62 offset, signed, in bytes; of the kinds that read the CFA from memory: bits 40–55 that of its place,
 *              bits 56–62 what is added to what is there, signed, in units of 8 bytes
 *   bit 63     0; the walk marks with 1 what takes it longer (RULE_ODD)
 */
#pragma once

#include <linux/types.h>

#include "trampoline.h"

enum rule_kind {
    RULE_UNKNOWN,  /* in tables 0 as a whole: no call frame information; or RULE_UNEXPRESSED */
    RULE_END,      /* as a whole 1: the outermost frame */
    RULE_REGISTER, /* CFA = base + offset */
    /* CFA = sp + 8, and 8 more once (pc & 15) >= offset: a lazily bound entry has pushed its number */
    RULE_PLT,
    RULE_DEREF, /* CFA = *(base + offset) + addend */
    /* the same; the caller's frame pointer is saved at base + …, not CFA + …: gcc's realigned stacks */
    RULE_DEREF_BASE,
    RULE_SIGNAL, /* the frame in which the kernel called a signal handler: registers are in its ucontext */
    /* as RULE_REGISTER, but the return address is in a register, whose number stands where others have its place */
    RULE_HELD,
};

/* There is call frame information, but none that a rule can express; what it says is not to be guessed. */
#define RULE_UNEXPRESSED ((__u64)RULE_UNKNOWN | 1 << 3)

#define RULE_KIND(rule) ((int)((rule)&7))
#define RULE_BASE(rule) ((int)((rule) >> 3 & 31))
#define RULE_LINK(rule) (((__s64)((__u64)(rule) << 41) >> 49) * 8)
#define RULE_FRAME(rule) (((__s64)((__u64)(rule) << 24) >> 48) * 8)
#define RULE_HOLDER(rule) ((int)((rule) >> 8 & 31))
#define RULE_OFFSET(rule) ((__s64)((__u64)(rule) << 1) >> 41)
#define RULE_PLACE(rule) ((__s64)((__u64)(rule) << 8) >> 48)
#define RULE_ADDEND(rule) (((__s64)((__u64)(rule) << 1) >> 57) * 8)

/* Nobody has written it down: it comes from the code (src/unwind/stack_analysis.h). The walk marks the frame. */
#define RULE_GUESSED (1ull << 23)

#define RULE_LINK_LIMIT (1 << 17)   /* places of return addresses are below it, and at least its negative, in bytes */
#define RULE_OFFSET_LIMIT (1 << 22) /* the same of offsets */
#define RULE_ADDEND_LIMIT (1 << 9)  /* the same of addends */

/* Rules are shared by all tables; a row has a rule's number. */
#define RULE_NUMBERS (1 << 14)

/*
 * A table covers BLOCK bytes of a file at a time. It consists of chunks. The first ones have words: for each block the
 * number of rows before it, and the number of all rows. The others have the rows, 21 each, of 3 bytes each: the rule's
 * number in the low 14 bits, above it the offset in its block. The first row stands at the beginning of the first
 * block, so that each offset has a row that holds.
 */
#define UNWIND_BLOCK_SHIFT 10
#define UNWIND_ROW(offset, rule) (((__u32)(offset) & ((1 << UNWIND_BLOCK_SHIFT) - 1)) << 14 | (rule))
#define UNWIND_ROW_OFFSET(row) ((row) >> 14 & ((1 << UNWIND_BLOCK_SHIFT) - 1))
#define UNWIND_ROW_RULE(row) ((row) & (RULE_NUMBERS - 1))

#define UNWIND_CHUNK_WORDS 16
#define UNWIND_CHUNK_ROWS 21
#define UNWIND_ROW_SIZE 3

struct unwind_chunk {
    union {
        __u32 words[UNWIND_CHUNK_WORDS];
        __u8 rows[UNWIND_CHUNK_WORDS * 4]; /* the last byte is unused: a row may be read as a word of 4 */
    };
};

/* The chunk of row NUMBER, as a division by UNWIND_CHUNK_ROWS that costs a multiplication; exact below 2^24. */
#define UNWIND_ROW_CHUNK(number) ((__u32)((__u64)(number)*51130564 >> 30))

/* Tables are kept in slabs, arrays of chunks: one is made for all that is known at first, others as processes
 * appear. */
#define UNWIND_SLABS 256

/*
 * Files have numbers, in the order in which either half first sees them, from 1 on. They are indices into
 * `uplua_unwind_tables`, and stand in frames (STACK_IN_FILE of bpf/stack.h).
 */
#define UNWIND_TABLES 8192

/* Where a file's table is. */
struct unwind_place {
    __u16 slab, state;              /* enum unwind_state */
    __u32 first;                    /* it begins with chunk FIRST of slab SLAB */
    __u32 start_block, block_count; /* in the file; 0 blocks: it has no table */
};

enum unwind_state {
    UNWIND_NOT_SEEN, /* by the user's half */
    UNWIND_SEEN,
};

/* Chunks before the rows of a table of so many blocks. */
#define UNWIND_INDEX_CHUNKS(block_count) ((block_count) / UNWIND_CHUNK_WORDS + 1)

/* The executable mappings of a process. */
#define UNWIND_MAPPINGS 256
#define UNWIND_PAGE_SHIFT 12
#define UNWIND_NO_START (~0ull >> 1)

struct unwind_mapping {
    /* below UNWIND_NO_START, which stands behind the last: starts are compared as signed numbers */
    __u64 start;
    __u32 pages, offset; /* size, and where in the file it begins, in pages of 4 KiB */
    __u32 number;        /* the file's; 0: it is none */
    /* the state of the address space in which the kernel has it so (uplua_unwind_state); 0: the kernel was not asked.
     * The kernel's half writes it */
    __u32 checked;
};

struct unwind_process {
    __u64 known;      /* ns, CLOCK_MONOTONIC: all that happened before is in the mappings */
    __u32 generation; /* a number that no earlier state of a process has; never 0 */
    __u32 asked;      /* milliseconds: when its mappings were asked for last, because an address lay in none */
    struct unwind_mapping mappings[UNWIND_MAPPINGS]; /* by ascending start */
};

#define UNWIND_PROCESSES 16384
#define UNWIND_EXECUTED 65536 /* processes at one time that have executed a program */

/*
 * Numbers by file, for processes whose mappings are not known yet: the kernel's inode and device numbers. An inode is
 * given to another file once its own is gone, and a file can be written to, which the time of its last change tells.
 */
#define UNWIND_FILES UNWIND_TABLES
#define UNWIND_NANOSECONDS 0x3fffffff /* the kernel keeps flags above them (Linux 6.13) */
#define UNWIND_TIME(seconds, nanoseconds) ((__u64)(seconds) << 30 | ((nanoseconds)&UNWIND_NANOSECONDS))

struct unwind_inode {
    __u64 inode;
    __u32 device; /* major << 20 | minor, as the kernel keeps it */
    __u32 padding;
};

struct unwind_known {
    __u32 number;
    __u32 changed_nanoseconds; /* the time of its last change … */
    __u64 changed_seconds;
    /* … and of that of its contents (UNWIND_TIME), which a file keeps that gets another name or owner, or loses its
     * last name; 0: not known */
    __u64 written;
};

/*
 * Mappings of a process that the kernel's half found itself, until the user's half knows them. They are kept, since the
 * search in the kernel's tree of vmas takes longer than the rest of finding a rule.
 */
#define UNWIND_RANGES 16

struct unwind_range {
    __u64 start, size;
    __u64 offset; /* in the file, in bytes */
    __u64 number; /* the file's */
    /* a hash of all that, and of the state of the address space in which it is so: another CPU may be writing it */
    __u64 check;
};

struct unwind_early {
    __u64 program; /* what it is about: uplua_unwind_program's */
    __u64 count;   /* ranges found; the latest UNWIND_RANGES are there */
    __u32 asked;   /* milliseconds: when the process's mappings were asked for last */
    __u32 padding;
    struct unwind_range ranges[UNWIND_RANGES];
};

/* Offsets in the kernel's structures, which differ by kernel, in bytes; all 0 if they are not known. */
struct unwind_kernel {
    __u64 code_mask; /* arch_code_mask */
    __u64 changes;   /* of what is in unwind_process, and of the programs that processes execute: both halves count */
    __u64 files;     /* numbers that were given so far; both halves count */
    __u32 listening; /* 1: there is a user half, which makes tables */
    /* struct vm_area_struct: vm_start, vm_end, vm_pgoff, vm_file, vm_flags, vm_mm */
    __u32 vma_start, vma_end, vma_offset, vma_file, vma_flags, vma_space;
    __u32 space_vmas; /* struct mm_struct: mm_mt.ma_root, a tree of vmas */
    /* the same: mm_lock_seq, a number that each change of the vmas changes (Linux 6.4); 0: there is none. SHIFT: to the
     * left; 0: it is odd while they are changed, and even when that is over */
    __u32 space_state, space_state_shift;
    __u32 space_vdso; /* the same: context.vdso, where that is mapped, which is no file to the kernel; 0: not known */
    __u32 vdso;       /* its number; 0: it has none yet */
    /* struct maple_range_64: pivot, slot; struct maple_arange_64: slot */
    __u32 node_pivots, node_slots, gap_node_slots;
    __u32 task_space;                           /* struct task_struct: mm */
    __u32 task_leader, task_start, task_signal; /* the same: group_leader, start_time, signal */
    __u32 task_execve, task_execve_mask;        /* the same: in_execve, a bit; mask 0: not known */
    __u32 signal_live;                          /* struct signal_struct: live */
    __u32 file_inode;                           /* struct file: f_inode */
    /*
     * struct backing_file, which begins with such a one: user_path.mnt, user_path.dentry (Linux 6.7); struct vfsmount:
     * mnt_sb; struct dentry: d_sb, d_inode. 0: not known
     */
    __u32 backing_mount, backing_entry, mount_super, entry_super, entry_inode;
    __u32 inode_number, inode_super;         /* struct inode: i_ino, i_sb */
    __u32 inode_seconds, inode_nanoseconds;  /* the same: the time of its last change; 0: not known */
    __u32 inode_written, inode_written_part; /* and of that of its contents: seconds, nanoseconds; 0: not known */
    __u32 super_device;                      /* struct super_block: s_dev */
    __u32 memory_device; /* that of files that have no place in any folder (memfd_create); 0: not known */
    /*
     * struct task_struct: utask; struct uprobe_task: return_instances, xol_vaddr, vaddr; struct return_instance: stack,
     * orig_ret_vaddr, next
     */
    __u32 task_uprobes, uprobes_returns, uprobes_copy, uprobes_original, return_stack, return_original, return_next;
    __u32 uprobes_returned; /* struct uprobe_task: ri_pool, since Linux 6.14; 0: not known */
    __u32 page_shift;
    __u64 trampoline; /* TRAMPOLINE_FIELDS */
};

/* The maps that tables go to: those of struct unwinder_maps, and the kernel's own account. */
#define UNWIND_NAMES(name)                                                                                             \
    name(uplua_unwind_slabs) name(uplua_unwind_tables) name(uplua_unwind_rules) name(uplua_unwind_process)             \
        name(uplua_unwind_files) name(uplua_unwind_kernel) name(uplua_unwind_early) name(uplua_unwind_executed)        \
            name(uplua_unwind_wanted)
