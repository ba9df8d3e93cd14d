-- What Tab offers at the prompt, beside what nm, tracefs and the manual know.
local api = require "uplua.api.help"
local complete = require "uplua.prompt.complete"
local context = require "uplua.prompt.context"
local providers = require "uplua.probe.providers"
local tap = require "tap"
local target = require "target"
local up = require "uplua"
local is, ok = tap.is, tap.ok

setmetatable(_G, { __index = up })

-- offers(TYPED, WORDS, NAME): the words for the last one of TYPED, which "|" parts from what is before.
local function words_of(typed)
  local before, word = typed:match "^(.*)|(.*)$"
  return complete.words(word, before)
end
local function offers(typed, want, name) is(table.concat(words_of(typed), " "), want, name) end

-- --- where the cursor is ---
local at = context.at [[f("x", { "a", "b" }, g(1), function(e) if e.x then while true do h("c]]
is(at.typed, "c", "an open string")
is(at.called, "h", "… of the function that is called with it")
is(at.handler "e".called, "f", "the call that a function is given to")
is(table.concat(at.handler "e".strings, " "), "x a b", "… with its strings")
ok(not context.at("f(function(e) end) x(").handler "e", "a function that has ended is none")
is(context.at("f[[x]] --[[ ' ]] g 'a\\'b").typed, "a\\'b", "long strings, comments, escaped quotes")
ok(context.at("x = 1 -- it's").comment, "a comment")
for _, hostile in ipairs {
  "))))", "end end", "]]", "\\", "'\n", "function(", "e.:.", "--[[", "\0\255", ("("):rep(10000),
} do
  ok(pcall(complete.words, "x", hostile), "what no compiler would take: " .. #hostile .. " bytes")
end

-- --- names ---
offers("|at_e", "at_exit", "a function of uplua's")
offers("x = |string.re", "string.rep string.reverse", "… of Lua's")
offers("|up.uprob", "up.uprobe", "… behind up")
offers("|whi", "while", "a word of the language")
n, h, text = up.count(), up.hash { max = 5 }, "x"
offers("|n:i", "n:inc", "a method")
offers("|h:", "h:clear h:delete h:get h:pairs h:set h:size h:top", "all that a map has")
offers("n[e.comm]|:i", ":inc", "… also of a key")
offers("|text:re", "text:rep text:reverse", "… that a string has")
offers("probes[2]|:", ":attach :detach :replace :sites", "… that a probe has")
offers("|nothing.at.all", "", "nothing of what is not there")
setmetatable(_G, { __index = function(_, name) return name ~= "trap" and up[name] or error "looked up" end })
trapped = setmetatable({}, { __index = error, __tostring = error })
offers("|trapped.", "", "no code of the user's runs")

-- --- options ---
for _, case in ipairs { { "hist { |", "up.hist" }, { 'uretprobe("libc:malloc", { slide = true, |', "up.uretprobe" } } do
  local keys, options = {}, api.find(case[2]).arguments
  for _, argument in ipairs(options) do for key in pairs(api.keys(argument.type)) do keys[#keys + 1] = key end end
  table.sort(keys)
  offers(case[1], table.concat(keys, " "), "the options of " .. case[2])
end
offers("hist { unit = |tex", "text", "… behind '=' a value")
offers('hist { unit = "|', "bytes count ns", "the texts that an option may be")
offers("up.hist({ max = 5, unit = '|b", "bytes", "… behind others, in the other quotes")
offers('hist { name = "|./src/lua/readl', "./src/lua/readline.c", "… where it may be any, as elsewhere")

-- --- events ---
local function has(list, word)
  for _, one in ipairs(list) do if one == word then return true end end
  return false
end
local in_entry = words_of 'uprobe("libc:malloc", function(e) n[|e.'
local in_return = words_of 'uretprobe("libc:malloc", function(e) n[|e.'
ok(has(in_entry, "e.arg3") and has(in_entry, "e.comm"), "fields of an event")
ok(not has(in_entry, "e.elapsed") and not has(in_entry, "e.ret"), "… none that this kind of probe has not")
ok(has(in_return, "e.elapsed") and has(in_return, "e.ret"), "… which another has")
ok(not has(words_of "profile(99, function(e) |e.", "e.arg0"), "a sample has no arguments")
offers('probe("tracepoint:sched:sched_switch", function(e) |e.el', "", "the kind in the spec")
offers('uprobe("libc:malloc", function(e) |e:', "e:kstack e:stack e:ustack", "its methods")
offers('uprobe("./build/targets/calls:add3", function(e) n:add(|e.args.', "e.args.a e.args.b e.args.c",
       "the arguments of the function")
local CONFIG = "bytes inner list mode name next path ports step word"
offers('uprobe("./build/targets/typed:fields", function(e) |e.args.c.', CONFIG:gsub("%S+", "e.args.c.%0"),
  "the fields of a structure; no double")
offers('uretprobe("./build/targets/typed:fields", function(e) |e.args.c.next.inner.', "e.args.c.next.inner.level "
  .. "e.args.c.next.inner.total", "… of one that it points to, at the return, too")
offers('uprobe("./build/targets/typed:fields", function(e) |e.args.c.mode.', "", "… none of a number")
offers('uprobe("./build/targets/typed:fields", function(e) |e.args.text.', "", "… and of a text")
if io.open "/sys/kernel/btf/vmlinux" then
  offers("profile(99, function(e) |e.task.real_par", "e.task.real_parent", "… of the kernel's task")
  offers('raw_tracepoint("sched_switch", function(e) |e.args.prev.mm.pgd', "e.args.prev.mm.pgd", "… its tracepoints")
end
for field in CONFIG:gmatch "%S+" do
  local code = ("n = sum() uprobe('./build/targets/typed:fields', function(e) local v = e.args.c.%s n:inc() end)")
    :format(field)
  is(target.uplua(('--check -e "%s"'):format(code)).status, 0, "… which a handler may write: " .. field)
end
offers('tracepoint("sched:sched_switch", function(e) |e.args.next_c', "e.args.next_comm", "… of the tracepoint")

-- Of each kind of probe all that is offered compiles, and the first that is not is refused. The arguments behind the
-- first depend on the function, and a part of e.args, e.vars and e.regs is wanted.
local TYPED = {
  uprobe = '"libc:malloc"', uretprobe = '"libc:malloc"', kprobe = '"vfs_read"', kretprobe = '"vfs_read"',
  fentry = '"vfs_read"', fexit = '"vfs_read"', tracepoint = '"sched:sched_switch"', raw_tracepoint = '"sched_switch"',
  syscall = '"openat"', sysreturn = '"openat"', usdt = '"./build/targets/usdt:app:text"', perf = '"page-faults", 1',
  profile = "99", interval = '"1s"', watch = '"./build/targets/watched:counter", "w"',
}
local function compiles(kind, fields)
  local list = {}
  for i, field in ipairs(fields) do list[i] = ("f%d = %s"):format(i, field) end
  local code = ("r = ring() %s(%s, function(e) r:emit { %s } end)"):format(kind, TYPED[kind], table.concat(list, ", "))
  return target.uplua(("--check -e '%s'"):format(code))
end
local OTHERS = { ["e.args"] = true, ["e.vars"] = true, ["e.regs"] = true }
local all = {}
for _, one in ipairs(api.members "Event") do
  if one.name:find "^e[.:]%l+$" and not OTHERS[one.name] then all[#all + 1] = one.name end
end
for _, provider in ipairs(providers.all()) do
  local kind = provider.name
  if not provider.hidden then
    local offered, good, refused = {}, {}, nil
    for _, separator in ipairs { ".", ":" } do
      for _, word in ipairs(words_of(("%s(%s, function(e) |e%s"):format(kind, TYPED[kind], separator))) do
        offered[word] = true
        if word == "e.task" then word = "e.task.pid" elseif separator == ":" then word = word .. "()" end
        if not (word:find "^e%.arg[1-7]$" or OTHERS[word]) then good[#good + 1] = word end
      end
    end
    for _, field in ipairs(all) do refused = refused or not offered[field] and field end
    ok(#good > 3, kind .. " has fields")
    local got = compiles(kind, good)
    is(got.status .. got.err, "0", kind .. ": all that is offered compiles")
    ok(not refused or compiles(kind, { refused }).status == 1, ("… and %s is refused"):format(tostring(refused)))
  end
end

-- --- processes ---
local own = io.open "/proc/self/stat":read "*n"
offers("symbol(|" .. own, tostring(own), "a process")
offers('address("libc:malloc", |' .. own, tostring(own), "… as the second argument")
offers('address("libc:malloc", 1, |' .. own, "", "… but not as the third")
offers(("os.execute('|uplua top.lua -- %d"):format(own), "uplua top.lua -- " .. own, "… in a command line behind --")
local every, labels = words_of "symbol(|", select(2, complete.words("", "symbol("))
ok(has(every, tostring(own)) and #every > 1, "all processes")
is(labels[tostring(own)], own .. "  uplua", "… with their names")

-- --- strings ---
local function lines_of(command)
  local out, list = io.popen(command), {}
  for line in out:lines() do list[#list + 1] = line end
  out:close()
  return table.concat(list, " ")
end
local names = lines_of [[objdump -t build/targets/calls |
                        sed -nE 's/^[0-9a-f]+ .{7} \.(text|init|fini|plt)\t[0-9a-f]+ +(\.hidden )?([A-Za-z_])/\3/p' |
                        LC_ALL=C sort -u]]
local shown = {}
for _, word in ipairs(words_of 'uprobe("|./build/targets/calls:') do shown[#shown + 1] = word:match ":(.*)$" end
is(table.concat(shown, " "), names, "the functions of a program are those that lie in its code")
offers('uprobe("|./build/targets/calls:data_start', "", "… not the linker's names of what lies elsewhere")
offers('uretprobe({ "libc:malloc", "|./build/targets/calls:facto', "./build/targets/calls:factorial_depth", "in a list")
offers('uprobe("|./build/targets/call', lines_of "ls -d build/targets/call* | LC_ALL=C sort | sed 's,^,./,'", "files")
ok(has(words_of 'uprobe("|libc', "libc:"), "libraries")
offers('uprobe("|nothing_of_that_name:', "", "nothing of what there is not")
offers('help "|e.elap', "e.elapsed", "names of the manual")
offers("?|e.elap", "e.elapsed", "… behind a question mark")
offers("  ? |lhi", "lhist", "… with spaces")
offers('perf("|page-faul', "page-faults", "perf events")
offers('syscall("|openat', "openat openat2", "system calls")
offers('tracepoint("|sched:sched_switc', "sched:sched_switch", "tracepoints")
offers('probe("|tracepoint:sched:sched_switc', "tracepoint:sched:sched_switch", "a kind and what it has")
offers('probe("|uret', "uretprobe:", "kinds")
offers('raw_tracepoint("|sched_switc', "sched_switch", "raw tracepoints")
local probes = lines_of [[./uplua --list usdt:./build/targets/usdt |
                         sed 's/.*targets/.\/build\/targets/' | LC_ALL=C sort]]
ok(probes:find "usdt:[%w_]+:[%w_]+", "there are USDT probes")
offers('usdt("|./build/targets/usdt:', probes, "… which are offered")
local notes = lines_of [[LC_ALL=C readelf -nW build/targets/usdt | awk '
  /Provider:/ { provider = $NF }
  $1 == "Name:" { print "./build/targets/usdt:" provider ":" $2 }' | LC_ALL=C sort -u]]
is(probes, notes, "… and are those of readelf")
local provider = notes:match ":([%w_]+):"
local ours = lines_of(([[LC_ALL=C readelf -nW build/targets/usdt | awk '
  /Provider:/ { provider = $NF }
  $1 == "Name:" && provider == "%s" { print "./build/targets/usdt:" provider ":" $2 }' | LC_ALL=C sort -u]])
  :format(provider))
offers(('usdt("|./build/targets/usdt:%s:'):format(provider), ours, "… of a provider")
for _, subsystem in ipairs { "sched", "irq" } do
  local events = lines_of(([[
    d=/sys/kernel/tracing mounted=
    [ -d $d/events ] || { mount -t tracefs none $d && mounted=1; }
    (cd $d/events/%s && ls -d */) | sed 's,^,%s:,; s,/$,,' | LC_ALL=C sort
    [ -z "$mounted" ] || umount $d]]):format(subsystem, subsystem))
  ok(events:find " ", "tracefs has events of " .. subsystem)
  offers(('tracepoint("|%s:'):format(subsystem), events, "… which are offered, all")
end
local common = complete.for_readline("libc:malloc", 'uprobe("')
ok(#common > 2 and common[1] == "libc:malloc" and common[2] == "libc:malloc", "what all begin with comes first")
local more = complete.for_readline("libc:pthread_mutexattr_g", 'uprobe("')
is(table.concat(more, " "), "libc:pthread_mutexattr_get", "… and alone where it is more than what was typed")
is(complete.for_readline("nothing_like_that", ""), nil, "nothing: nil")
-- What all begin with is found without the list: it is what the list has in common.
for _, typed in ipairs { "", "pthread_", "pthread_a", "pthread_mutexa", "mall", "str", "strn", "getaddrinfo" } do
  local word = "libc:" .. typed
  local words, offered = words_of('uprobe("|' .. word), complete.for_readline(word, 'uprobe("')
  local shared = words[1]
  for _, one in ipairs(words) do
    while one:sub(1, #shared) ~= shared do shared = shared:sub(1, -2) end
  end
  is(offered[1], shared, "what all functions begin with behind " .. word)
  is(#offered, #shared > #word and 1 or #words + (#words > 1 and 1 or 0), "… and whether the list follows")
end
target.done()
tap.done_testing()
