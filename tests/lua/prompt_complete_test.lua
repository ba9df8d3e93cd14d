-- What Tab offers at the prompt, beside what nm, tracefs and the manual know.
local api = require "uplua.api.help"
local complete = require "uplua.prompt.complete"
local context = require "uplua.prompt.context"
local tap = require "tap"
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
offers('tracepoint("sched:sched_switch", function(e) |e.args.next_c', "e.args.next_comm", "… of the tracepoint")

-- --- strings ---
local function lines_of(command)
  local out, list = io.popen(command), {}
  for line in out:lines() do list[#list + 1] = line end
  out:close()
  return table.concat(list, " ")
end
local names = lines_of [[nm build/targets/calls | sed -nE 's/^[0-9a-f]* +[TtWi] //p' | grep '^[a-m]' |
                        LC_ALL=C sort -u]]
local shown = {}
for _, word in ipairs(words_of 'uprobe("|./build/targets/calls:') do
  local name = word:match ":([a-m].*)$"
  if name then shown[#shown + 1] = name end
end
is(table.concat(shown, " "), names, "the functions of a program are nm's")
offers('uretprobe({ "libc:malloc", "|./build/targets/calls:facto', "./build/targets/calls:factorial_depth", "in a list")
offers('uprobe("|./build/targets/call', lines_of "ls -d build/targets/call* | LC_ALL=C sort | sed 's,^,./,'", "files")
ok(has(words_of 'uprobe("|libc', "libc:"), "libraries")
offers('uprobe("|nothing_of_that_name:', "", "nothing of what there is not")
offers('help "|e.elap', "e.elapsed", "names of the manual")
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
local common = complete.for_readline("libc:malloc", 'uprobe("')
ok(#common > 2 and common[1] == "libc:malloc" and common[2] == "libc:malloc", "what all begin with comes first")
is(complete.for_readline("nothing_like_that", ""), nil, "nothing: nil")
tap.done_testing()
