-- The pages "coming from …": another tool's line and uplua's for the same question, of which each is run here.
--
-- A section of such a page has blocks ```sh of two lines, the tool's and uplua's; or a block ```gdb before one with
-- uplua's. A section that says "Not compared" and why needs no test. One that speaks of an emulated machine is compared
-- there (`make test-neighbours-vm`), where the kernel has kprobes and nothing else runs; the others are here.
local neighbour = require "neighbour"
local tap       = require "tap"
local target    = require "target"

local pages = {}

-- A shell function, until_attached TRACER: waits until its probes are there, which not all tracers say.
pages.until_attached = [[
  until_attached() {
    until ls -l /proc/$1/fd 2>/dev/null | grep -q 'perf_event\|bpf.link'; do kill -0 $1 || exit 97; sleep 0.1; done
    sleep 2
  }
]]

-- The pairs of the page at PATH: { title, theirs, ours, line, excused }, in order; by title in a second table.
local function read(path)
  local pairs_of, by_title, section, block, language, number = {}, {}, nil, nil, nil, 0
  local gdb
  local function add(theirs, ours)
    local pair = { title = section.title, theirs = theirs, ours = ours, line = number, section = section }
    pairs_of[#pairs_of + 1] = pair
    by_title[section.title] = by_title[section.title] or pair
  end
  for line in io.lines(path) do
    number = number + 1
    local fence = line:match "^```(%a*)"
    if block and fence then
      if language == "gdb" then
        gdb = table.concat(block, "\n")
      elseif language == "sh" then
        if gdb then add(gdb, table.concat(block, "\n")) else add(block[1], block[2]) end
        gdb = nil
      end
      block = nil
    elseif fence then
      block, language = {}, fence
    elseif block then
      block[#block + 1] = line
    elseif line:find "^##? " then
      section = { title = line:match "^#+ (.*)" }
    elseif line:find "[Nn]ot compared" and section then
      section.excused = true
    elseif line:find "emulated machine" and section then
      section.emulated = true
    end
  end
  return pairs_of, by_title
end

-- Runs a check of TESTS, by title, for each pair of the page that is compared here: TESTS[title](pair). A pair without
-- one is a failure, and so is a test without a pair.
function pages.test(path, tests)
  local list, by_title = read(path)
  local only, emulated = os.getenv "PAIR", os.getenv "UPLUA_KERNEL" ~= nil
  tap.ok(#list > 0, path .. " has pairs")
  for _, pair in ipairs(list) do
    local test = tests[pair.title]
    if only and not pair.title:find(only, 1, true) or emulated ~= (pair.section.emulated or false) then
      test = nil
    elseif not test and not pair.section.excused then
      tap.ok(false, ("%s:%d: %s is compared, or says why not"):format(path, pair.line, pair.title))
    elseif test then
      print(("# %s:%d: %s"):format(path, pair.line, pair.title))
      test(pair)
    end
  end
  for title in pairs(tests) do
    if not only then tap.ok(by_title[title], ("%s has %q"):format(path, title)) end
  end
end

-- Runs OURS, uplua's line, on `sh -c TOOL`, after the shell command BEFORE, and says what goes wrong. OPTIONS are
-- uplua's own: "--follow --comm perl". Returns what uplua printed; what TOOL did is in the files "said", and
-- "complained" (neighbour.read).
function pages.run(ours, options, tool, before)
  local run = target.shell(([[
    export D PATH="$PWD:$PATH"
    %s
    %s -- sh -c %s >"$D/out" 2>"$D/err" </dev/null
  ]]):format(before or "", (ours:gsub("^uplua", "./uplua " .. options)),
    target.quote("exec " .. tool .. ' >"$D/said" 2>"$D/complained"')))
  tap.is(run.status, 0, "both end well")
  local lost = run.err:gsub("[^\n]*stack incomplete[^\n]*\n", ""):gsub("^uplua: not everything was seen:\n$", "")
  tap.is(lost, "", "uplua has lost nothing")
  return run.out
end

-- The counts by key that uplua printed ("n:" and lines "key  1,234", "n: key  1,234", or "n: 1,234").
function pages.counts(text)
  local found = {}
  for line in text:gmatch "[^\n]+" do
    local rest = line:gsub("^[%w_]+: ", "")
    local key, count = rest:match "^(.-)%s%s+([%d,]+)$"
    if not key then key, count = "", line:match "^[%w_]+: ([%d,]+)$" end
    if count then found[key] = tonumber((count:gsub(",", ""))) end
  end
  return found
end

-- The rows of a histogram that have a count, by their lower end, as both tools print it: "[64, 128)  52  |@@",
-- "[1,200, 1,400)  3  |@@", "[2000, ...)  1  |@@", "≥ 2,000  1  |@@".
function pages.buckets(text)
  local found = {}
  for line in text:gmatch "[^\n]+" do
    local label, count = line:match "^%s*(%S.-)%s+([%d,]+)%s+|"
    local from = label and label:gsub("(%d),(%d)", "%1%2"):match "^[%[(≥ ]*(%-?[%d.]+[KMG]?)"
    if label and (label:find "^<" or label:find "^%(%.%.%.") then from = "below" end
    count = count and tonumber((count:gsub(",", "")))
    if from and count > 0 then found[from] = count end
  end
  return found
end

-- The sum of a table's numbers.
function pages.sum(counts)
  local sum = 0
  for _, count in pairs(counts) do sum = sum + count end
  return sum
end

-- TEXT's lines that PATTERN matches, sorted, as one text, and how many they are.
function pages.lines(text, pattern)
  local found = {}
  for _, row in ipairs(neighbour.lines(text, pattern)) do found[#found + 1] = table.concat(row, " ") end
  table.sort(found)
  return table.concat(found, "\n"), #found
end

return pages
