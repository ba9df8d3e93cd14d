# What gdb prints of the arguments of each function of a program: at its breakpoint, for the first HITS calls of each.
#   ARGUMENTS=… INPUT=FILE FUNCTIONS=FILE HITS=3 RESULT=FILE gdb -nx -batch -x gdb.py PROGRAM
# FUNCTIONS has an address, a size, a type and a symbol a line, as nm -S prints them. Lines of RESULT: FUNCTION'S-ADDRESS CALL NAME VALUE, VALUE a number, "optimised" or "other", what is no number.
import os
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
        if kind.code in NUMBERS and kind.sizeof <= 8:
            return str(int(value))
        str(value)
        return "other"
    except gdb.error:
        return "optimised"


class Entry(gdb.Breakpoint):
    def stop(self):
        calls[self.address] = calls.get(self.address, 0) + 1
        self.enabled = calls[self.address] <= hits
        (entered.add if self.enabled else entered.discard)(self.address)
        return False


# Where gdb stops for a function's name: at its entry, or behind the prologue. That place may be in a loop, so that one call comes there often, or not
# at all.
class Function(gdb.Breakpoint):
    def stop(self):
        if self.address in entered:
            entered.remove(self.address)
            frame = gdb.selected_frame()
            while frame.type() == gdb.INLINE_FRAME:
                frame = frame.older()
            try:
                for name, value in arguments_of(frame):
                    result.write("%x %d %s %s\n" % (self.address, calls[self.address], name, value))
            except RuntimeError:  # what gdb finds no block for it prints no arguments of
                pass
            self.enabled = calls[self.address] < hits
        return False


def arguments_of(frame):
    block = frame.block()
    while block.function is None:
        block = block.superblock
    return [(symbol.name, text_of(symbol.value(frame))) for symbol in block if symbol.is_argument and symbol.name]


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
    try:
        place = place_of(name, int(address, 16), int(size, 16))
        # gdb takes the entry for some destructors: without -O it reads there what the prologue has not stored yet.
        if place and (place != int(address, 16) or os.environ["LEVEL"] != "0"):
            Entry("*0x%s" % address, internal=True).address = int(address, 16)
            Function("*%#x" % place, internal=True).address = int(address, 16)
    except gdb.error:
        pass
gdb.execute("run %s < %s > /dev/null 2>&1" % (os.environ["ARGUMENTS"], os.environ["INPUT"]))
result.close()
