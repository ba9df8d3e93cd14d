# What gdb prints of the arguments of each function of a program: at its breakpoint, for the first HITS calls of each.
#   ARGUMENTS=… INPUT=FILE FUNCTIONS=FILE HITS=3 RESULT=FILE gdb -nx -batch -x gdb.py PROGRAM
# FUNCTIONS has an address, a size, a type and a symbol a line, as nm -S prints them. Lines of RESULT: FUNCTION'S-ADDRESS CALL NAME VALUE, VALUE a number, "optimised" or "other", what is no number.
# CALL is THREAD.NUMBER, THREAD 1 for the program's first and 2 for the only other one that some have: each thread's calls have an order, those of both together have not.
import os
import re
import gdb

hits, calls, entered = int(os.environ["HITS"]), {}, set()
result = open(os.environ["RESULT"], "w")
NUMBERS = (gdb.TYPE_CODE_INT, gdb.TYPE_CODE_CHAR, gdb.TYPE_CODE_BOOL, gdb.TYPE_CODE_ENUM, gdb.TYPE_CODE_PTR)
REFERENCES = (gdb.TYPE_CODE_REF, gdb.TYPE_CODE_RVALUE_REF)


def text_of(value):
    try:
        if value.is_optimized_out:
            return "optimised"
        kind = value.type.strip_typedefs()
        if kind.code in REFERENCES:
            return str(int(value.referenced_value().address))
        # clang 14 says that a bool which it has spilled is the address where it lies, whose lowest byte gdb prints.
        if kind.code == gdb.TYPE_CODE_BOOL and int(value) not in (0, 1):
            return "other"
        if kind.code in NUMBERS and kind.sizeof <= 8:
            return str(int(value))
        str(value)
        return "other"
    except gdb.error:
        return "optimised"


def key_of(address):
    return address, min(gdb.selected_thread().num, 2)


class Entry(gdb.Breakpoint):
    def stop(self):
        key = key_of(self.address)
        calls[key] = calls.get(key, 0) + 1
        self.enabled = calls[key] <= hits
        (entered.add if self.enabled else entered.discard)(key)
        return False


# Where gdb stops for a function's name: at its entry, or behind the prologue. That place may be in a loop, so that one call comes there often, or not
# at all.
class Function(gdb.Breakpoint):
    def stop(self):
        key = key_of(self.address)
        if key in entered:
            entered.remove(key)
            frame = gdb.selected_frame()
            while frame.type() == gdb.INLINE_FRAME:
                frame = frame.older()
            try:
                for name, value in arguments_of(frame):
                    result.write("%x %d.%d %s %s\n" % (self.address, key[1], calls[key], name, value))
            except RuntimeError:  # what gdb finds no block for it prints no arguments of
                pass
            self.enabled = calls[key] < hits
        return False


def arguments_of(frame):
    block = frame.block()
    while block.function is None:
        block = block.superblock
    arguments = [symbol for symbol in block if symbol.is_argument and symbol.name]
    names = [symbol.name for symbol in arguments]
    # Those of a template's pack have one name, by clang, or numbers, by gcc: here as e.args has them.
    numbered = [name if names.count(name) == 1 else "%s#%d" % (name, names[:i].count(name)) for i, name in enumerate(names)]
    return [(name, text_of(symbol.value(frame))) for name, symbol in zip(numbered, arguments)]


BRANCH = re.compile(r"(bnd |notrack |rep )?(j|call|ret|ud2|b(l|r|lr|\..*)?$|cb|tb)")
ALLOCATION = re.compile(r"sub .*,%rsp$|sub sp, sp,|stp .*\[sp, #-.*\]!")


# The instructions from ADDRESS to the first that may lead elsewhere, of SIZE bytes of code: { address: text }.
def straight(address, size):
    code, reached = gdb.selected_inferior().architecture(), {}
    for instruction in code.disassemble(address, address + size - 1):
        text = re.sub(r"\s+", " ", instruction["asm"])
        reached[instruction["addr"]] = text
        if BRANCH.match(text.split(" ")[0]) or BRANCH.match(text):
            break
    return reached


# Where the stack has the function's frame, and nothing else has been done: behind what allocates it, or the pushes at the entry.
def behind_frame(address, size):
    reached = straight(address, size)
    addresses = list(reached)
    for before, after in zip(addresses, addresses[1:]):
        if ALLOCATION.match(reached[before]):
            return after
    return next((at for at in addresses if not re.match("push|endbr", reached[at])), address)


# Where the parameters of the function at ADDRESS are read, whose name gdb takes for PLACE; None: nowhere.
# - Without -O they are in their places from the function's second line on. Where the line table has no second one, as of many destructors, gdb takes the
#   entry, or what its own look at the code takes for the prologue's end, which is before the stores.
# - What gcc says with -O holds from the entry on; behind it, it is early by the store that puts a parameter on the stack.
# - What clang says with -O: PLACE may be behind a branch and in a loop, where a parameter may have been changed; or it is the entry, where what clang's debug
#   information counts from the stack pointer is not there yet.
def place_to_read(address, size, place):
    if os.environ["LEVEL"] == "0":
        return place if place != address and gdb.find_pc_line(place).pc == place else None
    if os.environ["COMPILER"] == "gcc":
        return address
    return place if place != address and place in straight(address, size) else behind_frame(address, size)


# A name means also where the function is inlined.
def place_of(name, address, size):
    named = gdb.Breakpoint("-qualified " + name, internal=True)
    places = [location.address for location in named.locations if address <= location.address < address + size]
    named.delete()
    return min(places, default=None)


gdb.execute("set pagination off")
gdb.execute("set confirm off")
gdb.execute("set exec-wrapper env -i")
gdb.execute("set breakpoint pending off")
gdb.execute("set print inferior-events off")
for line in open(os.environ["FUNCTIONS"]):
    address, size, kind, name = line.split()
    address, size = int(address, 16), int(size, 16)
    try:
        place = place_of(name, address, size)
        place = place and place_to_read(address, size, place)
        if place:
            Entry("*%#x" % address, internal=True).address = address
            Function("*%#x" % place, internal=True).address = address
    except gdb.error:
        pass
gdb.execute("run %s < %s > /dev/null 2>&1" % (os.environ["ARGUMENTS"], os.environ["INPUT"]))
result.close()
