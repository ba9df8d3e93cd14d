-- What functions return, by its type: trace.lua shows it so, and e.ret of up.retprobe is the integer that it is. One
-- that is negative is.
local tap    = require "tap"
local target = require "target"
local compiler = tap.compiler()
local is, like = tap.is, tap.like

local path = target.folder() .. "-results"
local file = assert(io.open(path .. ".c", "w"))
file:write [[
#include <stdbool.h>
#define KEPT(result, name, expression) \
    __attribute__((noinline, noclone)) result name(int n) { __asm__ volatile("" : "+r"(n)); return expression; }
KEPT(int, negative, -n)
KEPT(unsigned char, small, (unsigned char)(n * 256 + 7))
KEPT(bool, odd, n & 1)
KEPT(char *, nothing, (char *)(n ? 0L : 1L))
KEPT(void *, address, (void *)0x17171717)
KEPT(double, real, n / 2.0)
KEPT(unsigned long, large, -(unsigned long)n)
KEPT(long, far, -(long)n)
__attribute__((noinline, noclone)) void none(int n) { __asm__ volatile("" : "+r"(n)); }
int main(void)
{
    for (int i = 1; i <= 23; i++) {
        negative(i); small(i); odd(i); nothing(i); address(i); real(i); large(i); far(i); none(i);
    }
    return 0;
}
]]
file:close()
assert(
  os.execute(("%s -g -O1 -o %s %s.c && %s -O1 -o %s-bare %s.c"):format(compiler, path, path, compiler, path, path)) ==
  0)

local function run(program, arguments)
  local result = target.uplua(("scripts/%s -- %s"):format(arguments:gsub("@", program .. ":"), program))
  is(result.err, "", arguments)
  return result.out
end

local WANT = { "negative(n=2) = -2", "small(n=2) = 7", "odd(n=2) = false", "nothing(n=2) = NULL",
               "address(n=2) = 0x17171717", "real(n=2) = (double)", "large(n=2) = 18446744073709551614",
               "far(n=2) = -2",
                 "none(n=2)" }
local out = run(path, "trace.lua -r @negative @small @odd @nothing @address @real @large @far @none")
local by_pattern = run(path, "trace.lua -r '@[nsoarlf]*[a-z]' -w 'e.arg0 == 2'")
for _, line in ipairs(WANT) do
  like(out, "  " .. line:gsub("%p", "%%%0") .. " %([%d.]+ %as?%)\n", line)
  like(by_pattern, "  " .. line:gsub("%p", "%%%0") .. " %([%d.]+ %as?%)\n", line .. ", by a pattern of several types")
end
like(run(path .. "-bare", "trace.lua -r @negative"), "  negative%(arg0=0x2, [^\n]*%) = 4294967294 %(",
  "the whole register where nobody knows")
like(run(path, "funcslower.lua -m 0 @negative"), "  negative%(n=23%) = %-23\n", "funcslower.lua")
like(run(path, "argdist.lua -r @negative -k e.ret -w 'e.ret < -21'"), "^e.ret  Hits\n%-2[23] +1\n%-2[23] +1\n$",
  "argdist.lua: values")
like(run(path, "argdist.lua -r @negative -v e.ret"), "  count 23, avg %-12, min %-23, max %-1\n$", "… and histograms")
like(run(path, "argdist.lua -r @small -k e.ret"), "\n7 +23\n$", "a byte")
like(run(path, "argdist.lua -r @odd -k e.ret"), "\n1 +12\n0 +11\n$", "a boolean is 0 or 1")
like(run(path, "argdist.lua -r @far -v e.ret"), " min %-23, max %-1\n$", "a long")
for _, kind in ipairs { "uretprobe", "retprobe" } do
  local refused = target.uplua(([[-e '%s("%s:real", { typed = true }, function(e) printf("%%d\n", e.ret) end)' -- %s]])
    :format(kind, path, path))
  like(refused.err, "e%.ret: real returns double, which is in no register that handlers see\n$",
    kind .. ": what is in another register is refused")
  is(refused.status, 1, "… by its exit status")
end
like(run(path, "top.lua -r -i 60 -k e.func -s e.ret @negative"), "\nnegative +23 +[%d,]+ +%-276\n$", "top.lua sums")
local code = target.shell(([[./uplua -e 'local n = count() uretprobe("%s:negative", function(e) n[e.ret]:inc() end)
  uretprobe("%s:negative", { typed = true }, function(e) n[e.ret]:inc() end)
  at_exit(function() print(n[-23], n[4294967273]) end)' -- %s >"$D/out" 2>"$D/err"]]):format(path, path, path))
is(code.err, "", "uretprobe")
is(code.out, "1\t1\n", "… has a register, or what is asked for")
code = target.shell(([[./uplua -e 'local n = count()
  uretprobe("%s:large", { typed = true }, function(e) n[{ e.ret, e.ret > 0 }]:inc() end)
  at_exit(function() for k in n:pairs() do if k[1] ~= 0 then print(k[1], k[2]) end end end)' \
  -- %s >"$D/out" 2>"$D/err"]]):format(path, path))
is(code.err, "", "words without a sign")
tap.ok(code.out:find("18446744073709551593ULL\ttrue", 1, true) and not code.out:find("-", 1, true), "… are read so")

-- A negative int that is compared as the register that it is in is counted, with or without debug information.
local CAUSE = "e.ret was compared as a whole register, and looks like a negative int: write i32%(e.ret%), %-e:1\n"
for condition, counted in pairs {
  ["e.ret < 0"] = { negative = 23, far = 0, odd = 0 }, ["e.ret > 5"] = { negative = 23 },
  ["e.ret == -1"] = { negative = 23, far = 0 }, ["e.ret == 0"] = { negative = 0 }, ["0 <= e.ret"] = { negative = 23 },
  ["i32(e.ret) < 0"] = { negative = 0 }, ["u32(e.ret) > 5"] = { negative = 0 }, ["e.ret < e.arg0"] = { negative = 0 },
} do
  for name, times in pairs(counted) do
    for _, program in ipairs { path, path .. "-bare" } do
      local r = target.uplua(([[-e 'n = count() uretprobe("%s:%s", function(e) if %s then n:inc() end end)' -- %s]])
        :format(program, name, condition, program))
      local tells = program == path and "a program that tells" or "one that does not"
      local what = ("%s of %s in %s"):format(condition, name, tells)
      if times == 0 then
        is(r.err, "", what .. " is what it says")
      else
        like(r.err, ("\n  %d × %s"):format(times, CAUSE), what .. " is noted")
      end
    end
  end
end
local r = target.uplua(([[-e 'n = count() uretprobe("%s:negative", { typed = true },
  function(e) if e.ret < 0 then n:inc() end end)' -- %s]]):format(path, path))
is(r.err .. r.out, "n: 23\n", "with typed it is an int")

os.execute(("rm -f %s %s-bare %s.c"):format(path, path, path))
target.done()
tap.done_testing()
