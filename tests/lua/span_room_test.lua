-- More spans begin than there is room for, and most never end: memory stays what it was, and each begin is counted
-- once, as ended, open, full or timed out. With UPLUA_LONG 10 million begin.
local tap    = require "tap"
local target = require "target"
local is, ok = tap.is, tap.ok

local MANY = os.getenv "UPLUA_LONG" and 10000000 or tap.fewer(100003, 20011)
local ROOM, ENDS = 4096, 1009 -- so many are open at the most, and one of so many ends
local MEMORY = 64 * 1024      -- kB that the script may grow by; a megabyte is what is read of so many

-- MANY begins, each with a key of its own, by two threads; OPTIONS are further ones of span.new.
local function run(options)
  local r = target.script(([[
    local up   = require "uplua"
    local span = require "uplua.span"
    local function number(e) return e.arg0 end
    local function peak()
      for line in io.lines "/proc/self/status" do
        local kilobytes = line:match "^VmHWM:%%s+(%%d+)"
        if kilobytes then return tonumber(kilobytes) end
      end
    end
    local spans = span.new {
      from = { "uprobe:./build/targets/updates:step", key = number },
      to   = { "uprobe:./build/targets/updates:within", key = number,
               where = function(e) return e.arg0 %% %d == 0 end },
      max = %d, %s
    }
    local done, before = up.count(), nil
    spans:done(function(s) done:inc() end)
    up.at_start(function()
      spans:counts()
      before = peak()
    end)
    up.at_exit(function()
      local counts = spans:counts()
      for name, n in pairs(counts) do print(("%%s=%%d"):format(name, n)) end
      print(("done=%%d"):format(done:get()))
      print(("oldest=%%d"):format(#spans:open(3)))
      print(("grown=%%d"):format(peak() - before))
    end)
  ]]):format(ENDS, ROOM, options), ("-- ./build/targets/updates 2 %d"):format(MANY))
  local found = setmetatable({}, { __index = function() return -1 end })
  for name, n in r.out:gmatch "(%l[%l_]*)=(%d+)" do found[name] = tonumber(n) end
  found.err, found.ends = r.err, math.ceil(MANY / ENDS)
  return found
end

local function check(name, r)
  is(r.begun, MANY, name .. ": each begin is counted")
  is(r.ended + r.open + r.full + r.timed_out, MANY, "… once: as ended, open, full or timed out",
     ("%d, %d, %d, %d"):format(r.ended, r.open, r.full, r.timed_out))
  is(r.replaced + r.exited + r.keyless + r.backwards + r.cut, 0, "… and as nothing else")
  -- One that comes after the timeout counts with that.
  local others = r.ends - r.ended - r.unbegun
  ok(others >= 0 and others <= r.timed_out, "each end, too: of a begin that had room, or of one that had none", others)
  is(r.done, r.ended, "the handler ran for each that has ended")
  ok(r.open <= ROOM and r.oldest == math.min(3, r.open), "no more are open than there is room for", r.open)
  ok(r.grown < MEMORY, "memory does not grow with them", r.grown .. " kB")
  local full = tonumber((r.err:match "([%d,]+) × 'open_spans' is full %(max = 4096%)" or "0"):gsub(",", "") .. "")
  local depths = tonumber((r.err:match "([%d,]+) × 'span_depths' is full %(max = 4096%)" or "0"):gsub(",", "") .. "")
  is(full + depths, r.full, "those without room are in the ledger")
end

local newest = run ""
check("without a timeout", newest)
is(newest.open, ROOM, "all room is taken")
is(newest.timed_out, 0, "none is given up")

check("that nest", run "wins = 'nested'")

local timed = run "timeout = '20ms'"
check("with a timeout", timed)
ok(timed.timed_out >= ROOM, "what took longer has made room for others", timed.timed_out)

target.done()
tap.done_testing()
