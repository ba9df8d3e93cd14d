# Two functions each of which is declared inside of the other, by debug information that no compiler writes.
	.text
	.globl f, main
	.type f, @function
f:	nop
	ret
.Lf_end:
	.size f, .-f
	.type main, @function
main:	call f
	xor %eax, %eax
	ret
	.size main, .-main
.Ltext_end:
	.section .debug_abbrev
	.byte 1, 0x11, 1, 0x25, 8, 0x13, 5, 3, 8, 0x11, 1, 0x12, 1, 0, 0
	.byte 2, 0x2e, 1, 0x47, 0x13, 0x11, 1, 0x12, 1, 0, 0
	.byte 3, 0x13, 1, 3, 8, 0, 0
	.byte 4, 0x2e, 0, 3, 8, 0x3c, 0x0c, 0, 0
	.byte 5, 0x2e, 1, 0x47, 0x13, 0, 0
	.byte 0
	.section .debug_info
.Lunit:	.long .Lunit_end - .Lversion
.Lversion: .short 4
	.long 0
	.byte 8
	.uleb128 1
	.asciz "as"
	.short 4
	.asciz "circle.cc"
	.quad f, .Ltext_end
	.uleb128 2                 # f, whose declaration stands in the other function
	.long .Lfirst - .Lunit
	.quad f, .Lf_end
	.uleb128 3
	.asciz "S"
.Lsecond: .uleb128 4
	.asciz "second"
	.byte 1
	.byte 0, 0
	.uleb128 5                 # the other, whose declaration stands in f
	.long .Lsecond - .Lunit
	.uleb128 3
	.asciz "T"
.Lfirst: .uleb128 4
	.asciz "f"
	.byte 1
	.byte 0, 0, 0
.Lunit_end:
	.section .note.GNU-stack, "", @progbits
