-- The Test Anything Protocol for tests in Lua: a line per check on standard output, what differed on standard error.
local tap = {}

local count, failures = 0, 0

-- Each check is named by NAME and returns whether it passed.
function tap.ok(good, name, got)
  count = count + 1
  if not good then failures = failures + 1 end
  print(("%s %d - %s"):format(good and "ok" or "not ok", count, name or ""))
  if not good then
    local info = debug.getinfo(2, "Sl")
    if info.short_src:find "tap.lua" then info = debug.getinfo(3, "Sl") end
    io.stdout:flush()
    io.stderr:write(("#   at %s:%d\n"):format(info.short_src, info.currentline))
    if got ~= nil then io.stderr:write("#   got ", (tostring(got):gsub("\n", "\n#   ")), "\n") end
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

-- Says that what comes next is not asked here, and why: REASON is what this environment lacks. One that says "package
-- NAME" is a failure in CI where `make deps` installs that package.
function tap.skip(reason)
  count = count + 1
  print(("ok %d # SKIP %s"):format(count, (reason:gsub("%s+$", ""):gsub("\n", "; "))))
end

-- Ends the test: what is left of it, or all of it, is skipped for that REASON.
function tap.skip_rest(reason)
  if count == 0 then
    print("1..0 # SKIP " .. reason)
    os.exit(0)
  end
  tap.skip(reason)
  tap.done_testing()
end

-- Whether a PROGRAM of Debian's package PACKAGE is there; otherwise what needs it is skipped.
function tap.has(program, package)
  if os.execute(("PATH=$PATH:/usr/sbin; command -v %s >/dev/null"):format(program)) == 0 then return true end
  tap.skip(("there is no %s here (package %s)"):format(program, package or program))
  return false
end

-- Ends a test that needs a C compiler where there is none, as in the machine of tests/vm: what is left of it is
-- skipped. Otherwise returns the compiler's name.
function tap.compiler()
  local cc = os.getenv "CC" or "cc"
  if os.execute(("command -v %s >/dev/null"):format(cc)) == 0 then return cc end
  tap.skip_rest(("there is no %s here (package gcc)"):format(cc))
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
