-- uplua's own command line: uplua [options] script.lua [script options] [-- TARGET]
local text = require "uplua.base.text"

local cli = {}

cli.usage = "usage: uplua [options] script.lua [script options] [-- PID... | -- command...]"

cli.help = cli.usage .. [[


Traces running programs: the script's handlers are compiled to BPF and run in the kernel. Without a script and on a
terminal, a prompt; "-" is standard input, with uplua's functions as globals. A script name without a slash is looked up
among the installed scripts before the current folder.

  -e, --execute CODE    runs CODE, in which uplua's functions are globals
  -i, --interactive     runs the script, then a prompt
  -p, --pid PID[,PID]   traces these processes
  -c, --command CMD     starts CMD and traces it; the exit status is CMD's
      --tid TID[,TID]   traces these threads
      --follow          traces the processes that the target starts, too, and those that they start
      --cgroup PATTERN  traces only what runs in these cgroups or below, as in --cgroup 'system.slice/nginx*'
      --comm NAME       traces only threads of this name; 'NAME*': all that begin so; may be repeated
      --cpu LIST        traces only what happens on these CPUs, as in --cpu 0,2-3
      --returns instructions    sees the returns of functions at their return instructions: for programs that switch
                        stacks
      --watch           when the script's file is saved, it takes the place of what runs; its maps keep what they hold
      --top N           of tables, and of counts and maps that are printed, the N largest; 0: all
      --interval TIME   has a script that reports by up.report do so each TIME, too
      --duration TIME   ends after TIME: seconds, or 100ms, 5s, 2m
      --budget PERCENT  of one CPU is what the probes may take: the dearest is off for a while where it is more
      --serve ADDRESS   answers HTTP there, a port or a socket's path: the script's metrics (up.metric), for Prometheus
      --otlp URL        pushes the metrics to an OpenTelemetry collector there, each --every TIME (default 10s)
      --every TIME
      --as USER         with --serve or --otlp, is that user once all is attached, and has no more rights than it needs
      --keep            with these, keeps the rights that it began with
      --sha256 HEX      runs the script only if this is its SHA-256, as sha256sum prints it
  -o, --output FILE     writes the report to FILE, apart from what a command prints
      --format json|csv|text    the report as JSON Lines, or its tables as CSV, instead of text (doc/formats.md)
      --strict          exit status 3 where not everything was seen: the ledger is not empty
      --lines           frames of stacks with file and line of the source, and a line for each inlined function
      --modules         … with the program or library, --addresses: with the address
      --addresses
      --user            of stacks the program's part alone, --kernel: the kernel's
      --kernel
      --emit FILE       writes the compiled handlers as a BPF object to FILE and attaches nothing
      --check           compiles the handlers and attaches nothing: whether a script is right, without rights
      --explain         prints the compiled handlers beside their Lua lines and attaches nothing
      --info            prints what this kernel offers, and how each kind of probe is set with it
      --new NAME [SPEC...]  writes the script NAME.lua with these probes, its test and its page, to begin with
      --test DIR        runs the tests of a script library, DIR/*_test.lua and DIR/tests/*_test.lua; or one test
      --scripts         lists the scripts that can be run by their names, with what each is for
      --self            traces uplua itself too
      --trust           as root, also runs scripts and modules that other users can write
      --trust-watchpoints   attaches watchpoints also where a trial has found that this machine's do harm, or miss
                        accesses
      --list KIND[:WHAT]    prints what can be probed: 'uprobe:libc:mal*', usdt:PID, usdt:FILE:PROVIDER:NAME,
                        'tracepoint:sched:*', 'syscall:open*', 'kprobe:vfs_*'; patterns are * ? []
  -v, --verbose         with --list, the arguments and their types too, and of functions where a probe stands
      --json            prints what --list and --info tell as JSON
      --symbolize PID ADDRESS...  prints the functions that hold these addresses of a process
      --unwind-info FILE [ADDRESS]  prints how stacks are walked through FILE's code, or its code at ADDRESS
  -V, --version
  -h, --help

Exit status: 0, 1 for an error, 2 for wrong usage, 3 for losses with --strict, 4 for leaks with
--fail-on-leak of mallocleak.lua and heapscan.lua; else the command's own if one was started and ended.

  uplua mallocleak.lua -- 4242
  uplua --follow systrace.lua -- make
  uplua -e 'n = count() uprobe("libc:malloc", function(e) n[e.arg0]:inc() end)' -- ls
]]

local Usage = { __tostring = function(self) return self.text end }

local function wrong(format, ...) error(setmetatable({ text = format:format(...) }, Usage), 0) end

-- True if ERR is a wrong command line: exit status 2.
function cli.is_usage(err) return getmetatable(err) == Usage end

-- Raises such an error, for scripts' own options too.
cli.wrong = wrong

-- "4242,4243" → { 4242, 4243 }, or nil
local function parse_pids(word, pids)
  if not word:find("^%d[%d,]*$") then return nil end
  for digits in word:gmatch("%d+") do
    local pid = tonumber(digits)
    -- No kernel gives larger PIDs than 2^22 (PID_MAX_LIMIT).
    if pid < 1 or pid > 4194304 then error(("no process %s"):format(digits), 0) end
    pids[#pids + 1] = pid
  end
  return pids
end

local LONGEST_NAME = 15 -- that a thread can have: TASK_COMM_LEN without the NUL

-- "redis-server" or "redis*" as the kernel has the names, which cuts them.
local function parse_comm(name)
  local word, star = name:match "^([^%z]*[^*?[%z])(%*?)$"
  if not word or word:find "[*?[]" then
    wrong("--comm needs a name, or the beginning of one before a '*', as in --comm 'redis*'; got '%s'", name)
  end
  return #word > LONGEST_NAME and word:sub(1, LONGEST_NAME) or word .. star
end

local MOST_CPUS = 1024 -- CPU_SETSIZE

-- "0,2-3" → { 0, 2, 3 }, in ascending order and each once, or nil
local function parse_cpus(list)
  local cpus, has = {}, {}
  for range in (list .. ","):gmatch "([^,]*)," do
    local low, high = range:match "^(%d+)%-?(%d*)$"
    low, high = tonumber(low), tonumber(high) or tonumber(low)
    if not low or low > high or high >= MOST_CPUS or range:find "%-$" then return nil end
    for cpu = low, high do
      if not has[cpu] then cpus[#cpus + 1] = cpu end
      has[cpu] = true
    end
  end
  table.sort(cpus)
  return cpus
end

-- Raises it where CPUS names one that does not run, which would be 0 without a word.
local function check_cpus(cpus, list)
  local file = io.open "/sys/devices/system/cpu/online"
  local online = file and file:read "*l"
  if file then file:close() end
  local runs = {}
  for _, cpu in ipairs(online and parse_cpus(online) or cpus) do runs[cpu] = true end
  for _, cpu in ipairs(cpus) do
    if not runs[cpu] then
      wrong("--cpu %s: there is no CPU %d, or it is offline; these are online: %s", list, cpu, online)
    end
  end
end

-- Splits a command as a shell would: spaces separate, quotes and backslashes keep together. Nothing is expanded.
function cli.words(command)
  local words, word, quote, i = {}, nil, nil, 1
  while i <= #command do
    local c = command:sub(i, i)
    if c == "\\" and quote ~= "'" then
      i = i + 1
      word = (word or "") .. command:sub(i, i)
    elseif quote then
      if c == quote then quote = nil else word = word .. c end
    elseif c == "'" or c == '"' then
      quote, word = c, word or ""
    elseif c:find("%s") then
      if word then words[#words + 1], word = word, nil end
    else
      word = (word or "") .. c
    end
    i = i + 1
  end
  if quote then wrong("a quote in the command is not closed: %s", command) end
  if word then words[#words + 1] = word end
  return words
end

local function set_target(options, field, value)
  for _, other in ipairs { "pids", "tids", "command" } do
    if options[other] and (other ~= field or field == "command") then
      wrong("more than one target; give PIDs or one command, by -p, -c or after --, or threads by --tid")
    end
  end
  options[field] = value
end

local function add_code(options, code)
  options.code = options.code and options.code .. "\n" .. code or code
end

local function set_stacks(options, part)
  if options.stacks and options.stacks ~= part then wrong("--user and --kernel together leave nothing") end
  options.stacks = part
end

local NO_ADDRESSES = "--symbolize needs a PID and addresses, as in --symbolize 4242 0x7f3a1c29ef04"

local FORMATS = { json = true, csv = true, text = true }

-- Each option: what it does with its value; a flag has none. One with a value may be given once, unless it takes
-- `several`, or says more of that itself.
-- What sets the option NAME to a time in ns, no shorter than LEAST, a text (nil: any will do).
local function time(name, least)
  return function(options, value)
    local ns, message = text.duration(value)
    if not ns then wrong("--%s: %s", name, message) end
    if least and ns < text.duration(least) then wrong("--%s: %s is below the least, %s", name, value, least) end
    options[name] = ns
  end
end

local known = {
  ["--execute"]  = { several = true, value = "CODE", set = add_code },
  ["--pid"]      = { several = true, value = "PID", set = function(options, word)
    local pids = parse_pids(word, options.pids or {})
    if not pids then wrong("-p needs PIDs, as in -p 4242 or -p 4242,4243; got '%s'", word) end
    set_target(options, "pids", pids)
  end },
  ["--tid"]      = { several = true, value = "TID", set = function(options, word)
    local tids = parse_pids(word, options.tids or {})
    if not tids then wrong("--tid needs threads, as in --tid 4242 or --tid 4242,4243; got '%s'", word) end
    set_target(options, "tids", tids)
  end },
  ["--interactive"] = { set = function(options) options.interactive = true end },
  ["--watch"]    = { set = function(options) options.watch = true end },
  ["--follow"]   = { set = function(options) options.follow = true end },
  ["--cgroup"]   = { several = true, value = "PATTERN", set = function(options, pattern)
    if options.cgroup then
      wrong("--cgroup is given twice; one pattern can mean several, as in 'system.slice/*.service'")
    end
    options.cgroup = pattern
  end },
  ["--comm"]     = { several = true, value = "NAME", set = function(options, name)
    options.comms = options.comms or {}
    options.comms[#options.comms + 1] = parse_comm(name)
  end },
  ["--command"]  = { several = true, value = "CMD", set = function(options, command)
    local words = cli.words(command)
    if #words == 0 then wrong("-c needs a command") end
    set_target(options, "command", words)
  end },
  ["--cpu"]      = { value = "LIST", set = function(options, list)
    options.cpus = parse_cpus(list)
    if not options.cpus then wrong("--cpu needs CPUs, as in --cpu 0 or --cpu 0,2-3; got '%s'", list) end
    check_cpus(options.cpus, list)
  end },
  ["--returns"]  = { value = "instructions", set = function(options, value)
    if value ~= "instructions" and value ~= "address" then
      wrong("--returns is instructions or address; got '%s'", value)
    end
    options.returns = value
  end },
  ["--duration"] = { value = "TIME", set = time "duration" },
  ["--output"]   = { value = "FILE", set = function(options, file) options.output = file end },
  ["--format"]   = { value = "json|csv|text", set = function(options, name)
    if not FORMATS[name] then wrong("--format is json, csv or text; got '%s'", name) end
    options.format = name
  end },
  ["--sha256"]   = { value = "HEX", set = function(options, hex)
    if not hex:find "^%x+$" or #hex ~= 64 then
      wrong("--sha256 is 64 hexadecimal digits, as sha256sum prints them; got '%s'", hex)
    end
    options.sha256 = hex:lower()
  end },
  ["--budget"]   = { value = "PERCENT", set = function(options, value)
    local share = tonumber((value:match "^(.-)%s*%%?$"))
    if not share or share <= 0 or share > 1e5 then
      wrong("--budget is a share of one CPU above 0, as in --budget 1%%; got '%s'", value)
    end
    options.budget = share / 100
  end },
  ["--as"]       = { value = "USER", set = function(options, user) options.as = user end },
  ["--keep"]     = { set = function(options) options.keep = true end },
  ["--otlp"]     = { value = "URL", set = function(options, url) options.otlp = url end },
  ["--every"]    = { value = "TIME", set = time("every", "100ms") },
  ["--serve"]    = { value = "ADDRESS", set = function(options, address) options.serve = address end },
  ["--strict"]   = { set = function(options) options.strict = true end },
  ["--lines"]    = { set = function(options) options.lines = true end },
  ["--modules"]  = { set = function(options) options.modules = true end },
  ["--addresses"] = { set = function(options) options.addresses = true end },
  ["--top"]      = { value = "N", set = function(options, value)
    local n = tonumber(value)
    if not n or n < 0 or n ~= math.floor(n) then wrong("--top needs a whole number from 0 up; got '%s'", value) end
    options.top = n
  end },
  ["--interval"] = { value = "TIME", set = time("interval", "10ms") },
  ["--kernel"]   = { set = function(options) set_stacks(options, "kernel") end },
  ["--user"]     = { set = function(options) set_stacks(options, "user") end },
  ["--emit"]     = { value = "FILE", set = function(options, file) options.emit = file end },
  ["--check"]    = { set = function(options) options.check, options.explain = true, true end },
  ["--explain"]  = { set = function(options) options.explain = true end },
  ["--info"]     = { set = function(options) options.info = true end },
  ["--new"]      = { value = "NAME", set = function(options, name) options.new = name end },
  ["--test"]     = { value = "DIR", set = function(options, folder) options.test = folder end },
  ["--scripts"]  = { set = function(options) options.scripts = true end },
  ["--trust"]    = { set = function(options) options.trust = true end },
  ["--trust-watchpoints"] = { set = function(options) options.trust_watchpoints = true end },
  ["--self"]     = { set = function(options) options.self = true end },
  ["--list"]     = { value = "KIND:WHAT", set = function(options, what) options.list = what end },
  ["--json"]     = { set = function(options) options.json = true end },
  ["--verbose"]  = { set = function(options) options.verbose = true end },
  ["--symbolize"] = { value = "PID", set = function(options, word)
    local pids = parse_pids(word, {})
    if not pids or #pids ~= 1 then wrong(NO_ADDRESSES) end
    options.symbolize = pids[1]
  end },
  ["--unwind-info"] = { value = "FILE", set = function(options, file) options.unwind_info = file end },
  ["--version"]  = { set = function(options) options.version = true end },
  ["--help"]     = { set = function(options) options.help = true end },
}
local short = {
  e = "--execute", i = "--interactive", p = "--pid", c = "--command", o = "--output", V = "--version", h = "--help",
  v = "--verbose",
}

-- Those that are of the report, and may stand behind the script's name, too, where the script has none of that name.
cli.REPORT = {
  ["--output"] = true, ["--format"] = true, ["--strict"] = true, ["--lines"] = true, ["--modules"] = true,
  ["--addresses"] = true, ["--kernel"] = true, ["--user"] = true, ["--interval"] = true,
  ["--top"] = true,
}

-- The name of the option "-o" or "--output", nil for none.
function cli.long(name) return known[name] and name or short[name:match "^%-(%a)$"] end

local given = setmetatable({}, { __mode = "k" }) -- options → which have been

-- Sets the option NAME, whose VALUE may be the next of ARGV after I, in OPTIONS. Returns the I of its last word. Raises
-- what is wrong.
function cli.set(options, name, value, argv, i)
  local option = known[name]
  if not option then
    local near = text.nearest(name, known)
    wrong("no such option: %s%s", name, near and ("; did you mean %s?"):format(near) or "")
  end
  if not option.value then
    if value then wrong("%s takes no value", name) end
    option.set(options)
    return i
  end
  if not value then
    i = i + 1
    value = argv[i]
    if not value then wrong("%s needs a value: %s %s", name, name, option.value) end
  end
  given[options] = given[options] or {}
  if given[options][name] and not option.several then wrong("%s is given twice: leave one out", name) end
  given[options][name] = true
  option.set(options, value)
  return i
end

-- The words after "--": PIDs if all are numbers, else a command, whose first word is no number.
local function parse_target(options, argv, i)
  if not argv[i] then wrong("nothing after --; give PIDs or a command") end
  local pids = {}
  for j = i, #argv do
    if not parse_pids(argv[j], pids) then
      if pids[1] and argv[j]:find "^%-" then
        wrong("%s stands behind the PIDs; options stand in front of --", argv[j])
      elseif pids[1] then
        wrong("%s is no PID; behind -- stand PIDs alone, or a command", argv[j])
      end
      local words = {}
      for k = i, #argv do words[#words + 1] = argv[k] end
      return set_target(options, "command", words)
    end
  end
  if options.pids then
    wrong("more than one target; give PIDs or one command, by -p, -c or after --, or threads by --tid")
  end
  set_target(options, "pids", pids)
end

-- Checks of options that depend on each other.
local function check(options)
  if options.follow and options.tids then
    wrong("--follow is for processes, not for threads: give -p instead of --tid")
  end
  if options.watch and (not options.script or options.script == "-") then
    wrong("--watch is for a script that is run from its file")
  elseif options.watch and (options.interactive or options.explain) then
    wrong("--watch runs the script; it does not go with -i, --explain and --check")
  end
  if options.sha256 and not options.script then wrong("--sha256 is for a script, and none is named") end
  local served = options.serve and "--serve" or options.otlp and "--otlp"
  if served and options.interactive then wrong("%s runs a script; it does not go with -i", served) end
  if options.every and not options.otlp then wrong "--every is for --otlp" end
  if options.budget and options.interactive then wrong("--budget is for a script that runs; it does not go with -i") end
  if (options.as or options.keep) and not served then
    wrong("%s is for --serve and --otlp", options.as and "--as" or "--keep")
  end
  if options.as and options.keep then wrong("--keep keeps the rights that --as gives up: give one of them") end
  if options.symbolize and not options.script then wrong(NO_ADDRESSES) end
  if options.follow and not options.pids and not options.command then
    wrong("--follow needs a target: PIDs or a command")
  end
end

-- ARGV ([0] is the program) → { script, arguments, code, pids, tids, command, follow, cgroup, comms, cpus, duration,
-- emit, explain, self, help, version }. A wrong command line is an error for which cli.is_usage is true.
function cli.parse(argv)
  local options = { arguments = {} }
  local i = 1
  while argv[i] and argv[i]:find("^%-.") and argv[i] ~= "--" do
    local word = argv[i]
    if word:find("^%-%-") then
      local name, value = word:match("^(%-%-[^=]+)=(.*)$")
      i = cli.set(options, name or word, value, argv, i)
    else
      local name = short[word:sub(2, 2)]
      if not name then wrong("no such option: %s", word) end
      local rest = word:sub(3)
      if rest ~= "" and not known[name].value then wrong("no such option: %s", word) end
      i = cli.set(options, name, rest ~= "" and rest or nil, argv, i)
    end
    i = i + 1
  end
  if argv[i] and argv[i] ~= "--" and not options.code then
    options.script = argv[i]
    i = i + 1
  end
  while argv[i] and argv[i] ~= "--" do
    options.arguments[#options.arguments + 1] = argv[i]
    i = i + 1
  end
  if argv[i] then parse_target(options, argv, i + 1) end
  check(options)
  return options
end

return cli
