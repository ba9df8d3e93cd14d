# What gdb prints of the arguments of each function of a program: at its breakpoint, for the first HITS calls of each.
#   ARGUMENTS=… INPUT=FILE FUNCTIONS=FILE HITS=3 RESULT=FILE gdb -nx -batch -x gdb.py PROGRAM
# FUNCTIONS has an address, a type and a symbol a line, as nm prints them. Lines of RESULT: FUNCTION'S-ADDRESS CALL NAME VALUE, VALUE a number, "optimised" or "other", what is no number.
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
        entered.add(self.address)
        self.enabled = calls[self.address] < hits
        return False


# Behind the prologue, where a loop may come back to, and where gdb also stops in what a function is inlined into: neither is a call.
class Function(gdb.Breakpoint):
    def stop(self):
        frame = gdb.selected_frame()
        while frame.type() == gdb.INLINE_FRAME:
            frame = frame.older()
        start = function_of(frame, addresses[self.symbol])
        if start in entered:
            entered.remove(start)
            for name, value in arguments_of(frame):
                result.write("%x %d %s %s\n" % (start, calls[start], name, value))
            self.enabled = any(calls.get(own, 0) < hits for own in addresses[self.symbol])
        return False


# Which of the addresses OWN the function of FRAME begins at; None: at none.
def function_of(frame, own):
    block = frame.block()
    while block.function is None:
        block = block.superblock
    if block.start in own or len(own) > 1:
        return block.start
    return own[0] if own[0] in entered else None


def arguments_of(frame):
    block = frame.block()
    while block.function is None:
        block = block.superblock
    return [(symbol.name, text_of(symbol.value(frame))) for symbol in block if symbol.is_argument and symbol.name]


gdb.execute("set pagination off")
gdb.execute("set confirm off")
gdb.execute("set exec-wrapper env -i")
gdb.execute("set breakpoint pending off")
gdb.execute("set print inferior-events off")
addresses = {}
for line in open(os.environ["FUNCTIONS"]):
    addresses.setdefault(line.split()[2], []).append(int(line.split()[0], 16))
for name in addresses:
    for address in addresses[name]:
        Entry("*%#x" % address, internal=True).address = address
    try:
        Function("-qualified " + name, internal=True).symbol = name
    except gdb.error:
        pass
gdb.execute("run %s < %s > /dev/null 2>&1" % (os.environ["ARGUMENTS"], os.environ["INPUT"]))
result.close()
