/* build/library.bpf.o as bytes; see library.h. */
    .section .rodata
    .balign 8
    .global bpf_library, bpf_library_size
    .type bpf_library, %object
    .type bpf_library_size, %object
bpf_library:
    .incbin "library.bpf.o"
bpf_library_end:
    .size bpf_library, bpf_library_end - bpf_library
    .balign 8
bpf_library_size:
    .quad bpf_library_end - bpf_library
    .size bpf_library_size, 8

    .section .note.GNU-stack, "", %progbits
