-- The Test Anything Protocol for tests in Lua: a line per check on standard output, what differed on standard error.
local tap = {}

local count, failures = 0, 0

-- Each check is named by NAME and returns whether it passed.
function tap.ok(good, name)
  count = count + 1
  if not good then failures = failures + 1 end
  print(("%s %d - %s"):format(good and "ok" or "not ok", count, name or ""))
  if not good then
    local info = debug.getinfo(2, "Sl")
    if info.short_src:find "tap.lua" then info = debug.getinfo(3, "Sl") end
    io.stdout:flush()
    io.stderr:write(("#   at %s:%d\n"):format(info.short_src, info.currentline))
  end
  return good and true or false
end

local function differs(...)
  io.stdout:flush()
  io.stderr:write("#   ", (...):format(select(2, ...)):gsub("\n", "\n#   "), "\n")
end

function tap.is(got, want, name)
  local good = tap.ok(got == want, name)
  if not good then differs("got %s, want %s", tostring(got), tostring(want)) end
  return good
end

-- GOT matches the Lua pattern PATTERN.
function tap.like(got, pattern, name)
  local good = tap.ok(type(got) == "string" and got:find(pattern) ~= nil, name)
  if not good then differs("got %s, want something like %s", tostring(got), pattern) end
  return good
end

-- Ends a test that needs a C compiler where there is none, as in the machine of tests/vm: what is left of it is skipped. Otherwise
-- returns the compiler's name.
function tap.compiler()
  local cc = os.getenv "CC" or "cc"
  if os.execute(("command -v %s >/dev/null"):format(cc)) == 0 then return cc end
  print(count > 0 and ("ok %d # SKIP there is no %s"):format(count + 1, cc) or "1..0 # SKIP there is no " .. cc)
  if count == 0 then os.exit(0) end
  count = count + 1
  tap.done_testing()
end

-- MANY, or FEW where $UPLUA_FEWER asks for no more than it takes to prove the same: on a machine that is emulated.
function tap.fewer(many, few)
  if os.getenv "UPLUA_FEWER" then return few end
  return many
end

-- Prints the plan and ends the process.
function tap.done_testing()
  print("1.." .. count)
  if failures > 0 then io.stderr:write(("# %d of %d checks failed\n"):format(failures, count)) end
  os.exit(failures > 0 and 1 or 0)
end

return tap
