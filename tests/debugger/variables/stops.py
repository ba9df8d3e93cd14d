# stops.py PROGRAM COUNT   prints COUNT addresses in hexadecimal, always the same of one program: half of them where lines begin, the others of any instruction.
import hashlib
import re
import subprocess
import sys

program, count = sys.argv[1], int(sys.argv[2])


def lines_of(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()


def order(address):
    return hashlib.sha256(address.encode()).digest()


instructions, function = set(), ""
for line in lines_of("objdump", "-d", "-j", ".text", "--no-show-raw-insn", program):
    start = re.match(r"[0-9a-f]+ <(.*)>:", line)
    if start:
        function = start[1]
    elif re.match(r" *[0-9a-f]+:\t", line) and not re.match(r"_(init|fini|start)$|(de)?register_tm|frame_dummy|__do_global|_dl_relocate", function):
        instructions.add(line.split(":")[0].strip())
lines = set()
for line in lines_of("objdump", "--dwarf=decodedline", program):
    words = line.split()
    if len(words) >= 4 and words[-1] == "x" and re.match("0x[0-9a-f]+$", words[2]):
        lines.add(words[2][2:])
lines &= instructions
half = count // 2
chosen = sorted(lines, key=order)[:half]
for address in chosen + sorted(instructions - lines, key=order)[: count - len(chosen)]:
    print(address)
