-- Heaps as files for other tools: mallocleak.lua -o heap.pb.gz is read by `go tool pprof`, and its totals are those of
-- the report; .folded and .svg have what is proven lost apart.
local tap    = require "tap"
local target = require "target"
local ok, is, like = tap.ok, tap.is, tap.like

local PATH = target.folder() .. "-heap"

-- The sums of each column of `go tool pprof -raw`, by its name; and how many samples of the function NAME have which
-- sum of the first column.
local function read_raw(text)
  local names, sums, samples = {}, {}, text:match "\nSamples:\n(.-)\nLocations" or ""
  local head, rest = samples:match "^([^\n]*)\n(.*)$"
  for name in (head or ""):gmatch "([%w_]+)/[%w_]+" do names[#names + 1] = name end
  for line in (rest or ""):gmatch "[^\n]+" do
    local numbers = line:match "^([%s%d]+):"
    local i = 0
    for number in (numbers or ""):gmatch "%d+" do
      i = i + 1
      sums[names[i]] = (sums[names[i]] or 0) + tonumber(number)
    end
  end
  return sums, names
end

if tap.has("go", "golang-go") then
  local r = target.uplua(("mallocleak.lua --top 0 -o %s.pb.gz -- build/targets/peak"):format(PATH))
  like(r.err, "uplua: the profile is in " .. PATH:gsub("%p", "%%%0") .. ".pb.gz\n", "it is said what was written")
  local raw = target.shell(("go tool pprof -raw %s.pb.gz >\"$D/out\" 2>\"$D/err\""):format(PATH))
  is(raw.status, 0, "go tool pprof reads it " .. raw.err)
  local sums, names = read_raw("\n" .. raw.out)
  is(table.concat(names, " "), "inuse_space inuse_objects alloc_space alloc_objects", "its numbers")
  local bytes, blocks = r.out:gsub(",", ""):match "\n   total (%d+) bytes in (%d+) blocks"
  is(sums.inuse_space, tonumber(bytes), "bytes that are held")
  is(sums.inuse_objects, tonumber(blocks), "blocks that are held")
  is(sums.alloc_objects, tonumber((r.out:match "([%d,]+) allocations":gsub(",", ""))), "all allocations")
  is(sums.alloc_space, 100 * 1000 + 50 * 2000 + 25 * 10 + 30 * 100, "all bytes")
  local top = target.shell(("go tool pprof -sample_index=alloc_space -unit=B -top %s.pb.gz >\"$D/out\" 2>\"$D/err\"")
    :format(PATH)).out
  like(top, "203250B total", "go tool pprof has the same total")
  like(top, "\n +%d+B +%S+ +%S+ +100250B +%S+ +late\n", "… and that of a function")
  os.remove(PATH .. ".pb.gz")
end

-- What is proven lost: in other columns, of its own colour.
do
  local function run(suffix)
    local r = target.uplua(("mallocleak.lua --prove -o %s.%s -- build/targets/reach cache exit"):format(PATH, suffix))
    local text = target.read(PATH .. "." .. suffix)
    os.remove(PATH .. "." .. suffix)
    return r, text
  end
  local r, folded = run "folded"
  local lost, held = 0, 0
  for line, number in folded:gmatch "([^\n]*) (%d+)\n" do
    if line:find "^proven lost;" then lost = lost + tonumber(number) else held = held + tonumber(number) end
  end
  is(lost, tonumber(r.out:match "lost (%d+) in"), "folded: what is lost")
  ok(held >= tonumber(r.out:match "kept (%d+) in"), "folded: what is held")
  like(folded, "\nproven lost;[^\n]*;main;make_cache;lose 4968\n", "folded: its stack")
  local _, svg = run "svg"
  like(svg, "<title>proven lost: 4,968 bytes[^\n]*fill=\"#e2574c\"", "svg: what is lost has its colour")
  like(svg, "<title>lose: 4,968 bytes[^\n]*fill=\"#e2574c\"", "svg: and so have its functions")
  is(svg:match "<title>keep: [^\n]*fill=\"#e2574c\"", nil, "svg: not what is held")
end

target.done()
tap.done_testing()
