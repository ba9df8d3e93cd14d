-- up.address of variables: of a program and of a library, with values and without, and where the program has a copy of
-- a library's.
local tap = require "tap"
local target = require "target"
local is, like = tap.is, tap.like

local cc = tap.compiler()

-- Runs a program that prints where its variables are, built with FLAGS, stripped if STRIP, and asks up.address for the
-- same.
local function addresses(flags, strip)
  return target.shell(([[
  cat >"$D/library.c" <<'END'
int shared_value = 23, copied = 7, versions[101];
static int twice;
int *twice_here(void) { return &twice; }
int *copied_here(void) { return &copied; }
int *versions_here(void) { return versions; }
END
  cat >"$D/other.c" <<'END'
static int twice = 1;
int *twice_there(void) { return &twice; }
END
  cat >"$D/program.c" <<'END'
#include <stdio.h>
extern int copied, *twice_here(void), *twice_there(void), *versions_here(void), *copied_here(void);
int filled = 23, zeroed[101];
static int hidden = 5;
_Thread_local int of_thread = 3;
int main(void)
{
    printf("filled %%p\nzeroed %%p\nhidden %%p\ncopied %%p\nversions %%p\nsame %%d\nready\n",
           (void *)&filled, (void *)zeroed, (void *)&hidden, (void *)&copied, (void *)versions_here(),
           &copied == copied_here());
    return fflush(stdout) | (getchar() == of_thread) | (*twice_here() + *twice_there() == 99);
}
END
  CC=%q FLAGS=%q STRIP=%q
  $CC -shared -fPIC -o "$D/libshared.so" "$D/library.c" "$D/other.c" &&
    $CC $FLAGS -o "$D/program" "$D/program.c" "$D/libshared.so" -Wl,-rpath,"$D" || exit 98
  [ -z "$STRIP" ] || strip "$D/program" "$D/libshared.so"
  mkfifo "$D/in"
  "$D/program" <"$D/in" >"$D/target" &
  exec 7>"$D/in"
  program=$!
  until_said ready
  ./uplua -e '
    local pid, program = tonumber(arg[1]), arg[2]
    for _, spec in ipairs {
      program .. ":filled", program .. ":zeroed", program .. ":hidden", "libshared:copied", "libshared:versions",
      "libshared:versions+0x190", "libshared:versions+0x194", "libshared:twice", program .. ":of_thread",
      "libshared:nothing", program .. ":main",
    } do
      local at, why = address(spec, pid)
      print(spec:match ":(.*)", at and ("0x%%x"):format(at) or why:gsub("\n.*", ""))
    end' $program "$D/program" >"$D/out" 2>"$D/err"
  kill $program
]]):format(cc, flags, strip or ""))
end

for _, kind in ipairs { "-O1 -pie -fPIE", "-O1 -no-pie", "-O1 -no-pie -Wl,-z,noseparate-code" } do
  local run = addresses(kind)
  is(run.err, "", kind .. ": variables have addresses")
  for _, name in ipairs { "filled", "zeroed", "hidden", "copied", "versions" } do
    is(run.out:match("\n?" .. name .. "\t(%S+)"), run.target:match(name .. " (%S+)"), "… " .. name)
  end
  is(run.target:match "same (%d)", "1", "… where the library itself sees it")
  local versions = run.target:match "versions 0x(%x+)"
  is(tonumber(run.out:match "versions%+0x190\t0x(%x+)" or "0", 16) - tonumber(versions, 16), 400, "… an element")
  like(run.out, "versions%+0x194\t.*versions in .*libshared.so has only 404 bytes\n", "… none beyond the end")
  like(run.out, "twice\t.*there are several of that name", "… which of two?")
  like(run.out, "of_thread\t.*no such function in", "… one that each thread has for itself has no address")
  like(run.out, "nothing\t.*no such function in .*libshared.so", "… one that is not there")
  like(run.out, "main\t0x%x+\n", "functions have theirs")
end

local run = addresses("-O1 -pie -fPIE", "yes")
is(run.out:match "copied\t(%S+)", run.target:match "copied (%S+)", "stripped files have those that they share")
like(run.out, "hidden\t.*no such function in ", "… and no others")

target.done()
tap.done_testing()
