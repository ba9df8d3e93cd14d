# Run by gdb (tests/debugger/run): stops a program again and again wherever it is, lets uplua take the stack at that very instruction,
# and compares it with gdb's own. In the environment: PROCESS, a PID; SAMPLES; NAME, for the report.
#
# gdb stops the process; while it is stopped, uplua puts a probe on the instruction that the thread is to execute next; gdb lets
# the process go, and the first hit is at the state that gdb has seen.
import os
import random
import struct
import subprocess
import time

import gdb

PROCESS = int(os.environ["PROCESS"])
SAMPLES = int(os.environ["SAMPLES"])
NAME = os.environ["NAME"]
DEEPEST = 127

HANDLER = """
local seen, done = hash(), var(0)
uprobe("%s", function(e)
  if e.tid == %d and done:get() == 0 then
    done:set(1)
    seen[1] = e:ustack()
    exit()
  end
end)
after(0, function() io.stderr:write("tracing\\n") end)
after("5s", exit)
at_exit(function()
  local s = seen[1]
  if not s then return end
  local line = {}
  for i, f in ipairs(s:frames()) do
    if not f.inlined then line[#line + 1] = ("%%x%%08x"):format(math.floor(f.address / 2^32), f.address %% 2^32) end
  end
  print("STACK " .. table.concat(line, " ") .. (s:incomplete() and " " .. s:incomplete():gsub(" ", "_") or ""))
end)
"""


def segments(path):
    """The loadable segments of the ELF file PATH: (offset in the file, address, size)."""
    with open(path, "rb") as file:
        head = file.read(64)
        at, size, count = struct.unpack_from("<Q", head, 32)[0], *struct.unpack_from("<HH", head, 54)
        file.seek(at)
        table = file.read(size * count)
    for i in range(count):
        kind, _, offset, address, _, length = struct.unpack_from("<IIQQQQ", table, i * size)
        if kind == 1:
            yield offset, address, length


def place_of(pc):
    """The file that PC lies in and its address there; None where it lies in no file."""
    for line in open("/proc/%d/maps" % PROCESS):
        fields = line.split(None, 5)
        start, end = (int(x, 16) for x in fields[0].split("-"))
        if start <= pc < end:
            path = fields[5].strip() if len(fields) > 5 else ""
            if not path.startswith("/") or path.endswith(" (deleted)"):
                return None
            offset = pc - start + int(fields[2], 16)
            for at, address, length in segments(path):
                if at <= offset < at + length:
                    return path, offset - at + address
    return None


def stack_by_gdb():
    frames = []
    frame = gdb.newest_frame()
    while frame is not None and len(frames) < DEEPEST:
        if frame.type() not in (gdb.INLINE_FRAME, gdb.TAILCALL_FRAME): # both are told by debug information; neither is on the stack
            frames.append(frame.pc())
        frame = frame.older()
    return frames


def stack_by_uplua(path, address, thread):
    """Lets the process go on with uplua's probe in its way. The frames; a text where there is none."""
    code = HANDLER % ("%s:%#x" % (path, address), thread)
    uplua = subprocess.Popen(["./uplua", "-e", code, "--", str(PROCESS)], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE, text=True)
    notes = ""
    for line in uplua.stderr:
        notes += line
        if "tracing" in line:
            break
    gdb.execute("detach", to_string=True)
    out, rest = uplua.communicate()
    for line in out.splitlines():
        if line.startswith("STACK "):
            words = line.split()[1:]
            frames = [int(word, 16) for word in words if not word.startswith("[")]
            return frames, [word for word in words if word.startswith("[")]
    return None, (notes + rest).strip()


def shown(frames):
    return " ".join("%x" % pc for pc in frames)


for setting in ("pagination off", "confirm off", "print thread-events off", "backtrace past-main on", "backtrace past-entry on",
                "backtrace limit %d" % DEEPEST, "debuginfod enabled off"):
    try:
        gdb.execute("set " + setting, to_string=True)
    except gdb.error:
        pass

equal = different = refused = attempts = 0
random.seed(23)
while equal + different < SAMPLES and attempts < 3 * SAMPLES:
    attempts += 1
    time.sleep(random.random() / 50)
    try:
        gdb.execute("attach %d" % PROCESS, to_string=True)
        mine = stack_by_gdb()
        place = place_of(mine[0])
        thread = gdb.selected_thread().ptid[1]
    except gdb.error as error:
        print("# %s: gdb: %s" % (NAME, error))
        break
    if not place: # the kernel's own code, or code made at run time
        gdb.execute("detach", to_string=True)
        refused += 1
        continue
    frames, note = stack_by_uplua(*place, thread)
    if frames is None:
        refused += 1
        if not any(why in note for why in ("no instruction starts", "refuses", "puts no probe", "would corrupt")) and refused < 4:
            print("# %s: not compared: %s" % (NAME, note.replace("\n", " | ")[:300]))
    elif frames == mine:
        equal += 1
    else:
        different += 1
        print("# %s, different %s\n#   gdb   %s\n#   uplua %s %s" % (NAME, "%s:%#x" % place, shown(mine), shown(frames), " ".join(note)))
print("RESULT %s %d %d %d" % (NAME, equal, different, refused))
