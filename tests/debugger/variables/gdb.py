# What gdb prints of the variables where a program stops, for the first HITS hits of each stop: numbers, pointers, and up to LEAVES of these inside of each struct and array.
#   ARGUMENTS=… INPUT=FILE STOPS=FILE HITS=2 RESULT=FILE gdb -nx -batch -x gdb.py PROGRAM
# STOPS has an address a line. Lines of RESULT: ADDRESS HIT NAME VALUE, VALUE a number, "optimised" or "other", what is no number; HIT is THREAD.NUMBER, as in ../arguments/gdb.py.
import os
import gdb

LEAVES, DEEPEST = 3, 3
hits, seen = int(os.environ["HITS"]), {}
result = open(os.environ["RESULT"], "w")
NUMBERS = (gdb.TYPE_CODE_INT, gdb.TYPE_CODE_CHAR, gdb.TYPE_CODE_BOOL, gdb.TYPE_CODE_ENUM, gdb.TYPE_CODE_PTR)
REFERENCES = (gdb.TYPE_CODE_REF, gdb.TYPE_CODE_RVALUE_REF)
STRUCTS = (gdb.TYPE_CODE_STRUCT, gdb.TYPE_CODE_UNION)


def text_of(value, kind):
    if kind.code in REFERENCES:
        return str(int(value.referenced_value().address))
    # clang 14 says that a bool which it has spilled is the address where it lies, whose lowest byte gdb prints.
    if kind.code == gdb.TYPE_CODE_BOOL and int(value) not in (0, 1):
        return "other"
    return str(int(value))


# The numbers in VALUE, called PATH: [(path, text)], at most LEAVES.
def leaves_of(value, path, depth):
    try:
        kind = value.type.strip_typedefs()
        if value.is_optimized_out:
            return [(path, "optimised")]
        if kind.code in REFERENCES or (kind.code in NUMBERS and kind.sizeof <= 8):
            return [(path, text_of(value, kind))]
        found = []
        if depth < DEEPEST and kind.code in STRUCTS:
            for field in kind.fields():
                if field.name and not field.is_base_class and not field.artificial and hasattr(field, "bitpos") and field.name.isidentifier():
                    found += leaves_of(value[field], path + "." + field.name, depth + 1)
        elif depth < DEEPEST and kind.code == gdb.TYPE_CODE_ARRAY and kind.range()[1] >= 0:
            found = leaves_of(value[0], path + "[0]", depth + 1)
        else:
            str(value)
        return [leaf for leaf in found if leaf[1] not in ("other", "optimised")][:LEAVES] or [(path, "other")]
    except gdb.error:
        return [(path, "optimised")]


# What each name means at ADDRESS: the variable of the innermost block, of inlined functions before those that they are inlined into. Blocks tell, not frames: at its first instruction gdb
# hides the frame of an inlined function, and a function of which gcc inlines a part into itself has two frames.
def variables_of(frame, address):
    found, block = {}, gdb.block_for_pc(address)
    while frame.type() == gdb.INLINE_FRAME:
        frame = frame.older()
    while block and not block.is_static and not block.is_global:
        for symbol in block:
            if (symbol.is_variable or symbol.is_argument) and symbol.name and symbol.name.isidentifier() and symbol.name not in found:
                try:
                    found[symbol.name] = leaves_of(symbol.value(frame), symbol.name, 0)
                except gdb.error:
                    found[symbol.name] = [(symbol.name, "optimised")]
        block = block.superblock
    return [leaf for leaves in found.values() for leaf in leaves]


# Without -O all variables are in the frame, which the function's first line makes: what gdb prints before is what was there.
def is_before_body(address):
    function = gdb.block_for_pc(address)
    while function and not function.function:
        function = function.superblock
    return bool(function) and os.environ["LEVEL"] == "0" and address <= (gdb.find_pc_line(function.start).last or address)


class Stop(gdb.Breakpoint):
    def stop(self):
        key = self.address, min(gdb.selected_thread().num, 2)
        seen[key] = seen.get(key, 0) + 1
        if seen[key] <= hits:
            try:
                for path, text in variables_of(gdb.newest_frame(), self.address):
                    result.write("%x %d.%d %s %s\n" % (self.address, key[1], seen[key], path, text))
            except RuntimeError:  # it has no block for code without debug information
                pass
        self.enabled = seen[key] < hits
        return False


gdb.execute("set pagination off")
gdb.execute("set confirm off")
gdb.execute("set exec-wrapper env -i")
gdb.execute("set print inferior-events off")
for line in open(os.environ["STOPS"]):
    address = int(line, 16)
    if is_before_body(address):
        continue
    Stop("*%#x" % address, internal=True).address = address
gdb.execute("run %s < %s > /dev/null 2>&1" % (os.environ["ARGUMENTS"], os.environ["INPUT"]))
result.close()
