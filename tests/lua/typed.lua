--[[
Types a page of the manual, as a newcomer does, and compares what is printed with what the page shows.

What is typed: the blocks ```console. A line that begins with "$ " or "# " is a command, as one that needs no rights or
root's; "> " behind it goes on with it. The lines below are what it prints, standard error too. Blocks of other
languages are not typed; one that shows a command in its first line is an error, so that none is forgotten.

A chapter, from one heading "## " to the next, is a session: one bash in a folder of its own, which looks like that of
the source (./uplua, build/examples/shop) and goes with what was written into it. `sudo` is there and does nothing.

What varies is stated by a comment in front of the block, which readers of the page do not see:

    <!-- typed: numbers vary by 3; exact "from 2 stacks" -->

  numbers vary             numbers that stand alone are others in each run
  numbers vary by 3        … but not more than 3 times as large, nor smaller than a third
  shares vary by 1.5       percentages may be others, whatever the rule for numbers
  exact "2 stacks"         … and those in this text are the same (may be repeated)
  times vary by 4          durations ("5.2 ms") may be others; without this by any factor
  names 4243 4244          these numbers stand for others, each for one, in the whole chapter: PIDs, TIDs
  buckets vary             the lines of a histogram may be others, with the same sum
  order varies             the lines may come in another order
  more words               a line may have other words, too, as where other programs of the machine are listed
  varies "%d+%.%d+%.%d+"   so does what matches this Lua pattern (may be repeated)

Never compared: durations, times of day, addresses and offsets (0x12345, +0x4a), the width of columns. A line "…" stands
for any number of lines, "…" inside of a line for any text. All else is the same, letter by letter. The source's folder
is /home/me/uplua on pages.

How it is typed:

  COMMAND &                runs in the background, until the end of the session. The page shows "[1] 4242" below: from
                           there on 4242 is the PID, in commands and in what they print. What the program itself prints
                           belongs below that line, whenever it comes; better send it into a file.
  ^C                       a line of the output: Control-C, a second after the lines before it have come
  ^C after 3 s             … or three seconds
  prompt                   the command starts uplua's prompt: the lines "> " and ">> " are typed there, "^D" ends it
  wait 2 s                 at the prompt, before each line but the first
  feature watchpoint       without this feature of --info the rest of the chapter is skipped
  needs redis-server       without this program the rest of the chapter is skipped; needs X (package Y)
  not typed, REASON        a block ```console that is only shown
  sample                   `make test` types the chapter, too; all chapters are typed by `make test-long`

A file that the reader writes is a block with this in front of it, before its first use: <!-- file: slow.lua -->

    typed.test "doc/tutorial.md"     as a test (tests/lua/tap.lua), whose file mentions UPLUA_LONG: so make test-long
                                     finds it. $TYPED: only the chapters with this in the heading
    UPDATE_TYPED=1                   writes into the page what was printed, for steps that differ; look at git diff
--]]
local compare = require "typed_compare"
local tap = require "tap"
local target = require "target"

local typed = {}

-- --- the page ---

local function refuse(page, line, ...) error(("%s:%d: "):format(page, line) .. (...):format(select(2, ...)), 0) end

-- How each item of a comment "typed:" changes MARKS; the pattern's captures are the values.
local ITEMS = {
  { "^numbers vary$", function(marks) marks.numbers = true end },
  { "^numbers vary by ([%d.]+)$", function(marks, factor) marks.numbers = tonumber(factor) end },
  { "^shares vary by ([%d.]+)$", function(marks, factor) marks.shares = tonumber(factor) end },
  { "^times vary by ([%d.]+)$", function(marks, factor) marks.times = tonumber(factor) end },
  { '^exact "(.*)"$', function(marks, phrase) table.insert(marks.exact, phrase) end },
  { '^varies "(.*)"$', function(marks, pattern) table.insert(marks.patterns, pattern) end },
  { "^names ([%d ]+)$", function(marks, list) for n in list:gmatch "%d+" do marks.names[n] = true end end },
  { "^buckets vary$", function(marks) marks.buckets = true end },
  { "^more words$", function(marks) marks.more_words = true end },
  { "^order varies$", function(marks) marks.unordered = true end },
  { "^prompt$", function(marks) marks.prompt = true end },
  { "^wait ([%d.]+) s$", function(marks, seconds) marks.wait = seconds end },
  { "^%^C after ([%d.]+) s$", function(marks, seconds) marks.interrupt = seconds end },
  { "^feature (%S+)$", function(marks, feature) marks.feature = feature end },
  { "^needs (%S+)$", function(marks, program) marks.needs = { program } end },
  { "^needs (%S+) %(package (%S+)%)$", function(marks, ...) marks.needs = { ... } end },
  { "^not typed, (.+)$", function(marks, reason) marks.shown = reason end },
  { "^sample$", function(marks) marks.sample = true end },
}

local function marks_of(text, page, line)
  local marks = { exact = {}, patterns = {}, names = {}, interrupt = "1" }
  for item in text:gsub('"[^"]*"', function(quoted) return (quoted:gsub(";", "\1")) end):gmatch "[^;]+" do
    item = item:gsub("\1", ";"):match "^%s*(.-)%s*$"
    local known
    for _, row in ipairs(ITEMS) do
      local found = { item:match(row[1]) }
      if #found > 0 then
        known = true
        row[2](marks, unpack(found))
      end
    end
    if not known then refuse(page, line, "this means nothing to tests/lua/typed.lua: %s", item) end
  end
  return marks
end

-- Adds the steps of a block ```console: { command =, keys = lines typed at the prompt, or nil, want = lines, line =,
-- first =, last = the page's lines of what it prints }.
local function add_steps(steps, lines, first, marks, page)
  local step
  for i, line in ipairs(lines) do
    local command, at = line:match "^[$#] (.+)$", first + i - 1
    if command then
      step = { command = command, want = {}, marks = marks, line = at, first = at + 1, last = at }
      step.keys = marks.prompt and {} or nil
      steps[#steps + 1] = step
    elseif not step then
      refuse(page, at, "a block of commands begins with one")
    elseif not marks.prompt and step.last + 1 == step.first and line:find "^> " then
      step.command, step.first, step.last = step.command .. "\n" .. line:sub(3), at + 1, at
    else
      if marks.prompt and (line:find "^>>? " or line == "^D") then step.keys[#step.keys + 1] = line end
      step.want[#step.want + 1], step.last = line, at
    end
  end
end

-- The page's chapters: { title =, line =, sample =, steps = }. A step is one of add_steps, { file =, text = } or
-- { needs = } or { feature = }. `shown`: how many blocks are only shown.
function typed.read(page)
  local chapters, chapter, number = { shown = 0 }, nil, 0
  local comment, pending, block
  local function fresh(title)
    chapter = { title = title, line = number, steps = {} }
    chapters[#chapters + 1] = chapter
  end
  local function marked(text)
    local file = text:match "^file:%s*(%S+)"
    local items = text:match "^typed:%s*(.*)"
    if file then pending = { file = file } end
    if not items then return end
    pending = marks_of(items, page, number)
    if pending.sample then chapter.sample = true end
    if pending.needs then table.insert(chapter.steps, { needs = pending.needs }) end
    if pending.feature then table.insert(chapter.steps, { feature = pending.feature }) end
  end
  local function closed()
    local marks = block.marks or marks_of("", page, number)
    if marks.file then
      table.insert(chapter.steps, { file = marks.file, text = table.concat(block, "\n") })
    elseif block.language ~= "console" then
      local forgotten = (block[1] or ""):find "^[$#] %S"
      if forgotten then refuse(page, block.line, "commands that nobody types: say ```console") end
    elseif marks.shown then
      chapters.shown = chapters.shown + 1
    else
      add_steps(chapter.steps, block, block.line + 1, marks, page)
    end
  end
  fresh "the beginning"
  for line in io.lines(page) do
    number = number + 1
    local fence = line:match "^```(%a*)"
    if block and fence then
      closed()
      block, pending = nil, nil
    elseif block then
      block[#block + 1] = line
    elseif fence then
      block = { language = fence, line = number, marks = pending }
    elseif comment or line:find "^<!%-%-" then
      comment = (comment and comment .. " " or "") .. line
      local text = comment:match "^<!%-%-%s*(.-)%s*%-%->"
      if text then
        marked(text)
        comment = nil
      end
    elseif line:find "^## " then
      fresh(line:sub(4))
    end
  end
  return chapters
end

-- --- the session ---

-- What a session begins with. A session that does not end within five minutes is ended.
local SESSION = [==[
unset MAKEFLAGS MAKELEVEL MFLAGS
export LC_ALL=C.UTF-8 HOME=$D
set -m
top=$PWD here=$(mktemp -d) renamed=
ln -s "$top"/* "$here"
rm "$here/examples" && mkdir "$here/examples" && ln -s "$top"/examples/* "$here/examples"
perl -e 'my $p = shift; sleep 300;
  while (-e "/proc/$p") { open my $f, "<", "/proc/$p/task/$p/children"; kill TERM => split " ", <$f>; sleep 1 }
  ' $$ >/dev/null 2>&1 & disown
watch=$!
end_jobs() { for job in $(jobs -p); do kill -- -$job; done; kill $watch; wait; } # with all that is in them
trap 'end_jobs 2>/dev/null; cd "$top"; rm -rf "$here"' EXIT
cd "$here" && PATH=$here:$PATH
sudo() { "$@"; }
export -f sudo
echo "$here" >"$D/here"

# step NUMBER NAME: runs the command that is on standard input; NAME is on the page what the PID of its job is here
step() {
  typed_number=$1 typed_name=$2 typed_command=$(sed "$renamed")
  eval "$typed_command" >>"$D/$typed_number.step" 2>&1 </dev/null
  case $typed_command in
  *'&')
    typed_job=$(jobs %%)
    echo "${typed_job%%]*}] $!" >"$D/$typed_number.job"
    [ "$typed_name" = - ] || renamed="$renamed;s/\\b$typed_name\\b/$!/g"
    ;;
  kill*) sleep 0.2 ;; # a job that ends frees its number
  esac
  jobs >/dev/null 2>&1
}

# interrupted NUMBER LINES SECONDS: … and types Control-C SECONDS after it has printed so many LINES
interrupted() {
  typed_out=$D/$1.step typed_command=$(sed "$renamed")
  : >"$typed_out"
  { eval "$typed_command"; } >>"$typed_out" 2>&1 </dev/null &
  typed_job=$!
  for _ in $(seq 600); do
    [ "$(wc -l <"$typed_out")" -ge "$2" ] && break
    kill -0 $typed_job 2>/dev/null || break
    sleep 0.05
  done
  sleep "$3"
  echo '^C' >>"$typed_out"
  kill -INT -- -$typed_job
  wait $typed_job
}

# prompt NUMBER: the first line is a command, which runs on a terminal of its own; the others are steps of
# tests/targets/pty.c
prompt() {
  sed "$renamed" >"$D/$1.keys"
  "$top/build/targets/pty" bash -c "$(head -n 1 "$D/$1.keys")" < <(tail -n +2 "$D/$1.keys") >"$D/$1.step" 2>&1
}
]==]

local function keys_of(step)
  local keys = { step.command, "< >" }
  for i, key in ipairs(step.keys) do
    if i > 1 then
      keys[#keys + 1] = "< >"
      if step.marks.wait then keys[#keys + 1] = "~ " .. step.marks.wait end
    end
    keys[#keys + 1] = key:gsub("^>>? ", "> ")
  end
  return table.concat(keys, "\n")
end

-- How many lines the page shows before "^C"; nil if it shows none.
local function lines_before_interrupt(step)
  local count = 0
  for _, line in ipairs(step.want) do
    if line == "^C" then return count end
    if line ~= "…" then count = count + 1 end
  end
end

-- What the page calls the job that STEP starts in the background.
local function job_of(step) return step.command:find "&$" and (step.want[1] or ""):match "^%[%d+%] (%d+)$" end

local function script_of(steps)
  local parts = { SESSION }
  for number, step in ipairs(steps) do
    local call, text = ("step %d %s"):format(number, step.file and "-" or job_of(step) or "-"), step.command
    local lines = not step.file and lines_before_interrupt(step)
    if step.file then
      -- a link to what the source has of that name is not followed
      call, text = ('rm -f "$here"/%s; cat >"$here"/%s'):format(step.file, step.file), step.text
    elseif step.keys then
      call, text = ("prompt %d"):format(number), keys_of(step)
    elseif lines then
      call = ("interrupted %d %d %s"):format(number, lines, step.marks.interrupt)
    end
    parts[#parts + 1] = ("%s <<'TYPED_END'\n%s\nTYPED_END\n"):format(call, text)
  end
  return table.concat(parts)
end

-- The lines of TEXT, without what the shell itself says of jobs that end, and with the source's folder as on pages.
local function lines_of(text, folders)
  local list = {}
  for _, folder in ipairs(folders) do text = text:gsub(folder:gsub("%p", "%%%0"), "/home/me/uplua") end
  for line in text:gmatch "([^\n]*)\n?" do
    if not line:find "line %d+: +%d+ %u%l+ " then list[#list + 1] = line end
  end
  while list[#list] == "" do list[#list] = nil end
  return list
end

-- What was printed at the prompt, with each line that was typed as the page shows it: readline prints it again as it is
-- edited.
local function session_lines(step, lines)
  local list, at = {}, 1
  for _, line in ipairs(lines) do
    line = line:gsub("\27%[[%d;?]*%a", "")
    local key = step.keys[at]
    if key == "^D" and line:find "^>%s*$" then
      list[#list + 1], at = key, at + 1
    elseif key and line:sub(-#key) == key then
      list[#list + 1], at = key, at + 1
    elseif key == "^D" and line:find "^> " then -- what Control-D is answered by, on the prompt's own line
      list[#list + 1], list[#list + 2], at = key, line:sub(3), at + 1
    else
      list[#list + 1] = line
    end
  end
  return list
end

-- Runs STEPS: each gets `got`, the lines that it printed, and `names`, those that hold behind it; `good` if they are
-- the page's.
local function run(steps)
  local result = target.shell(script_of(steps))
  local D, names = target.folder(), compare.names()
  local folders = { target.read(D .. "/here"):match "%S+", io.popen("pwd"):read "*l" }
  for number, step in ipairs(steps) do
    if step.command then
      local job = target.read(("%s/%d.job"):format(D, number))
      local called, pid = job_of(step), job:match "(%d+)\n"
      step.got = lines_of(job .. target.read(("%s/%d.step"):format(D, number)), folders)
      if step.keys then step.got = session_lines(step, step.got) end
      if called and pid then names[called], names.taken[pid] = pid, called end
      local found = compare.lines(step.want, step.got, step.marks, names)
      step.good, names = found ~= nil, found or names
      step.names = names
    end
  end
  return result
end

-- --- the test ---

-- CHAPTER's steps that can be typed here; what they lack is said as skipped checks.
local function possible(chapter)
  local steps, terminal = {}, nil
  for _, step in ipairs(chapter.steps) do
    if step.needs then
      if not tap.has(step.needs[1], step.needs[2]) then return steps end
    elseif step.feature then
      local why = step.feature == "watchpoint" and target.watch_problem() or not target.has(step.feature) and
                  "there is no " .. step.feature .. " here"
      if why then
        tap.skip(why)
        return steps
      end
    elseif step.keys then
      if terminal == nil then terminal = target.has_terminal() end
      if terminal then steps[#steps + 1] = step end
    else
      steps[#steps + 1] = step
    end
  end
  return steps
end

-- Puts what the STEPS that differ have printed into the page.
local function update(page, chapters)
  local lines, replaced = {}, {}
  for line in io.lines(page) do lines[#lines + 1] = line end
  for _, chapter in ipairs(chapters) do
    for _, step in ipairs(chapter.steps) do
      if step.good == false then replaced[step.line] = step end
    end
  end
  local file, at = assert(io.open(page, "w")), 1
  while at <= #lines do
    local step = replaced[at]
    file:write(lines[at], "\n")
    at = at + 1
    if step then
      while at < step.first do
        file:write(lines[at], "\n")
        at = at + 1
      end
      for _, line in ipairs(step.got) do
        file:write((line:gsub("%d+", function(number) return step.names.taken[number] end)), "\n")
      end
      at = step.last + 1
    end
  end
  file:close()
end

local function tell(step)
  io.stdout:flush()
  for _, part in ipairs { { "the page shows:", step.want }, { "what was printed:", step.got } } do
    io.stderr:write("#   ", part[1], "\n")
    for _, line in ipairs(part[2]) do io.stderr:write("#     ", line, "\n") end
  end
end

-- Types the chapter; true if it prints what the page shows. Each step is a check.
function typed.chapter(page, chapter)
  local steps, good = possible(chapter), true
  local result = #steps > 0 and run(steps)
  for _, step in ipairs(steps) do
    if step.command then
      local command = step.command:match "^[^\n]*"
      if not tap.ok(step.good, ("%s:%d: %s"):format(page, step.line, command)) then
        tell(step)
        good = false
      end
    end
  end
  if not good and result.noise ~= "" then io.stderr:write("# the session: ", result.noise or "ended", "\n") end
  return good
end

-- Types PAGE: the chapters marked "sample", with $UPLUA_LONG all.
function typed.test(page)
  local chapters, only, count = typed.read(page), os.getenv "TYPED", 0
  for _, chapter in ipairs(chapters) do
    local wanted = os.getenv "UPLUA_LONG" or chapter.sample
    if only then wanted = chapter.title:find(only, 1, true) end
    if wanted and #chapter.steps > 0 then
      count = count + 1
      typed.chapter(page, chapter)
    end
  end
  tap.ok(count > 0, ("%s has chapters to type: %d"):format(page, count))
  if os.getenv "UPDATE_TYPED" then update(page, chapters) end
end

return typed
