-- What uplua.heap proves beside what LeakSanitizer and valgrind find at the same moment of the same program, and beside
-- the truth (tests/targets/reach.c): proven is never more than theirs, and all that is lost. What theirs have more they
-- have wrongly, since the program uses it afterwards: pointers that stand at no multiple of eight or have marks, in the
-- kernel, in shared memory, in memory that has been put aside. With UPLUA_LONG, which make test-long sets.
local reach  = require "reach"
local tap    = require "tap"
local target = require "target"
local ok, is = tap.ok, tap.is

if not os.getenv "UPLUA_LONG" then tap.skip_rest "it takes a minute: make test-long" end
if not tap.has "valgrind" then tap.done_testing() end
local cc = tap.compiler()
local ONLY = os.getenv "SHAPES" -- to look at some of them

local FLAGS = "-O1 -g -fno-omit-frame-pointer -fno-optimize-sibling-calls -pthread"
local COMPILE = {
  reach = cc .. " -std=gnu11 " .. FLAGS .. " tests/targets/reach.c",
  reach_cxx = (os.getenv "CXX" or "c++") .. " " .. FLAGS .. " tests/targets/reach_cxx.cc",
}

local function path_of(program, tool) return ("%s-%s-%s"):format(target.folder(), program, tool) end

local function build(program, tool, flags)
  local r = target.shell(("%s %s -o %s >\"$D/out\" 2>&1"):format(COMPILE[program], flags, path_of(program, tool)))
  is(r.status, 0, ("%s for %s: builds %s"):format(program, tool, r.out))
end

-- The bytes that uplua proves lost in SHAPE, and the truth. THREADS move pointers meanwhile.
local function by_uplua(program, shape, threads, options)
  local r = reach.run(shape, threads, options, program)
  is(r.status, 0, ("%s, %s, %d threads: the program has all that it uses"):format(shape, options, threads))
  return tonumber(reach.proven(r):match "%d+" or 0), tonumber(reach.truth(r).lost:match "%d+"), r
end

-- What LeakSanitizer finds at the moment at which the program tells the truth; nil where it does not run to its end, as
-- under valgrind with more memory than that can map.
local function by_lsan(program, shape)
  local r = target.shell(([[LSAN_OPTIONS=leak_check_at_exit=0 %s %s exit >"$D/out" 2>&1]]):format(
    path_of(program, "lsan"), shape))
  if r.status ~= 0 then return nil end
  return tonumber(r.out:match "SUMMARY: LeakSanitizer: (%d+) byte" or 0)
end

-- The same of valgrind, then or at the program's end: a register may still have what is lost.
local function by_valgrind(program, shape)
  local r = target.shell(([[valgrind --leak-check=full %s %s exit >"$D/out" 2>&1]]):format(
    path_of(program, "valgrind"), shape))
  if r.status ~= 0 then return nil end
  local most = 0
  for summary in r.out:gmatch "LEAK SUMMARY:(.-)\n==%d+== *\n" do
    local sum = 0
    for kind in ("definitely indirectly possibly"):gmatch "%a+" do
      local bytes = summary:match(kind .. " lost: ([%d,]+) bytes") or "0"
      sum = sum + tonumber((bytes:gsub(",", "")))
    end
    most = math.max(most, sum)
  end
  return most
end

local missing = {} -- shapes that one of the others does not get through: "sparse" maps 64 GB

local function compare(program, shape, most_threads)
  local lsan, valgrind = by_lsan(program, shape), by_valgrind(program, shape)
  if not (lsan and valgrind) then missing[#missing + 1] = shape end
  for _, options in ipairs { "--stop=20s", "--prove" } do
    for threads = 0, most_threads, 3 do
      local what = ("%s, %s, %d threads"):format(shape, options, threads)
      local proven, lost, r = by_uplua(program, shape, threads, options)
      -- Where threads move pointers while it runs, passes may be too few on a busy machine: that is said, and no proof.
      local undecided = proven == 0 and threads > 0 and options == "--prove" and r.out:find "\n   not proven: "
      if undecided then tap.skip(what .. ": not decided") else
        -- While it runs nobody knows what is free, and has pointers to what is lost.
        local enough = shape == "freed" and options == "--prove" and proven <= lost and proven or lost
        is(proven, enough, what .. ": all that is lost is proven, and nothing else")
      end
      ok(not lsan or lsan >= proven, ("%s: LeakSanitizer has %s, proven are %d"):format(what, lsan, proven))
      ok(not valgrind or valgrind >= proven - 72, ("%s: valgrind has %s, proven are %d"):format(what, valgrind, proven))
    end
  end
end

local programs = 0
for _, program in ipairs(reach.PROGRAMS) do
  build(program, "lsan", "-fsanitize=leak")
  build(program, "valgrind", "-DMEMCHECK")
  for _, shape in ipairs(reach.shapes(program)) do
    if not ONLY or ONLY:find(shape, 1, true) then
      compare(program, shape, program == "reach" and 3 or 0)
    end
    programs = programs + 1
  end
  os.remove(path_of(program, "lsan"))
  os.remove(path_of(program, "valgrind"))
end
is(programs, 41, "so many programs were compared")
ok(#missing <= 3, "the others get through nearly all: not " .. table.concat(missing, ", "))

target.done()
tap.done_testing()
