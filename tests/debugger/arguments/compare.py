# compare.py NAME GDB UPLUA LOOPS   counts what both print of the arguments of a program's functions (gdb.py, values.lua), and lists what
# differs. LOOPS has the addresses of functions that jump to their own first instructions: there gdb stops at each round, which is no call.
# Threads but the first may make more calls, or fewer, before the program ends: of these the calls are compared that both have seen.
import re
import sys
from collections import Counter

name, gdb_file, uplua_file, loops_file = sys.argv[1:]
loops = {int(line, 16) for line in open(loops_file)}


def key_of(words):
    return int(words[0], 16), words[2]


ours, refused = {}, {}
for line in open(uplua_file):
    words = line.rstrip("\n").split(" ", 3)
    if words[1] == "refused":
        refused[key_of(words)] = words[3]
    else:
        ours.setdefault(key_of(words), {})[words[1]] = None if words[3] == "nil" else int(words[3]) & (1 << 64) - 1
printed, other, optimised = {}, set(), set()
for line in open(gdb_file):
    words = line.split()
    key = key_of(words)
    if words[3] == "other":
        other.add(key)
    elif words[3] == "optimised":
        optimised.add(key)
    else:
        printed.setdefault(key, {})[words[1]] = int(words[3]) & (1 << 64) - 1

# gcc may list a parameter once more, for a part of the function that it has inlined again: of one name, gdb numbers them.
for address, parameter in [key for key in printed if key[1].endswith("#0")]:
    base = parameter[:-2]
    again = [key for key in printed if key[0] == address and re.fullmatch(re.escape(base) + "#[0-9]+", key[1])]
    if (address, base) in ours and all(printed[key] == printed[(address, parameter)] for key in again):
        printed[(address, base)] = printed[(address, parameter)]
        for key in again:
            del printed[key]

equal, different, reasons, more = 0, [], Counter(), 0
for key, values in printed.items():
    seen = ours.get(key, {})
    if key[0] in loops:
        values = {call: value for call, value in values.items() if call.endswith(".1")}
    if values.keys() & seen.keys():
        values = {call: value for call, value in values.items() if call.startswith("1.") or call in seen}
    if key not in ours:
        reasons[refused.get(key) or refused.get((key[0], "*")) or "not printed, without a reason"] += 1
    elif all((ours[key][call] or 0) == value for call, value in values.items() if call in ours[key]) and values.keys() <= ours[key].keys():
        equal += 1
    elif values.keys() <= ours[key].keys() and all(ours[key][call] in (None, value) for call, value in values.items()):
        reasons["nil, which the ledger counts"] += 1
    else:
        different.append((key, values, ours[key]))
more = sum(1 for key in ours if key in optimised and key not in printed)
count = len(printed)
print("%-24s %6d %6d %6.1f %% %6d %6d %6d %6d" % (name, count, equal, 100.0 * equal / max(count, 1), len(different), sum(reasons.values()), len(other), more))
for (address, parameter), values, own in different:
    print("#   %x %s: gdb %s, uplua %s" % (address, parameter, sorted(values.items()), sorted(own.items())))
for reason, times in reasons.most_common():
    print("#   %d: %s" % (times, reason))
sys.exit(1 if different or reasons["not printed, without a reason"] or count < 10 else 0)
