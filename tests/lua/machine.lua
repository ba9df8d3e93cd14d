-- What a CPU's kernel calls otherwise than another's, for tests that expect it to the letter.
return ({
  x64 = {
    call = { read = 0, lseek = 8, exit_group = 231, openat = 257 }, -- numbers of system calls
    enters = "do_syscall_64", -- what runs a system call
    seeks = "ksys_lseek", -- what each lseek of a file in a tmpfs runs, and two things that hold of its arguments
    sought = "e.args.fd == e.args.whence + e.args.fd, e.args.fd > 2 and e.args.fd < 100",
    inside = { 5, 9 }, -- where the second instruction of a function may stand
    elsewhere = "no instruction starts at", -- what is said of where none stands
  },
  arm64 = {
    call = { read = 63, lseek = 62, exit_group = 94, openat = 56 },
    enters = "el0_svc",
    seeks = "shmem_file_llseek", -- ksys_lseek is part of its callers there
    sought = "e.args.whence == 0, e.args.file.f_inode.i_ino > 0",
    inside = { 4, 8, 12 },
    elsewhere = "the kernel permits no probe there",
  },
})[jit.arch]
