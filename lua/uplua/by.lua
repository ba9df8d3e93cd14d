-- By whom and by what a script counts: processes, threads, cgroups, containers, CPUs, or the values of expressions, as
-- the options --by, --key and --sum of its user say.
--
--   local by = require "uplua.by"
--   local options = up.args { "calls.lua [options] SPEC", by.option, by.key, by.sum }
--   local who = by.new(options.by, { keys = options.key })  -- nil where neither option is given
--   local sums = by.sums(options.sum)                       -- the columns of --sum, none where it is not given
--   local calls, key, add = up.count(), who.key, sums.add   -- functions of the event, for handlers
--   up.probe(options, function(e)
--     local k = { key(e), e.func }
--     add(e, k) -- before the hit is counted, and taken before the hits are
--     calls[k]:inc()
--   end)
--   local table = view.new { who.columns, { "func", "Function" }, { "n", "Calls", "count" }, sums.columns }
--   sums:take()
--   for k, n in calls:take():pairs() do
--     rows[#rows + 1] = sums:fill(who:fill({ func = k[2], n = n }, k[1]), k)
--   end
--
-- Keys and sums are written EXPR or NAME=EXPR, an expression of the event and what its column is called, and with a
-- unit NAME:UNIT=EXPR: 'size:bytes=e.arg0'.
--
-- A container is named by what its runtime calls its cgroup: docker-<id>.scope, cri-containerd-<id>.scope,
-- libpod-<id>.scope, crio-<id>.scope, kubepods/…/pod<uid>/<id>, lxc.payload.NAME, machine-NAME.scope; what has no name
-- of that kind is shown by its cgroup. Cgroups are those of version 2.
local args         = require "uplua.args"
local capture      = require "uplua.compile.capture"
local cgroups      = require "uplua.by.cgroup"
local named        = require "uplua.by.named"
local option_table = require "uplua.base.option_table"
local record       = require "uplua.objects.record"
local sums         = require "uplua.by.sums"
local text         = require "uplua.base.text"

local by = {
  option = { "by,b", "WHAT", "string", false, "by process, thread, cgroup, container, cpu or an expression of e" },
  key = { "key,k", "[NAME=]EXPR", "string", false, "by the value of EXPR, too, in a column NAME", several = true },
  sum = { "sum,s", "[NAME=]EXPR", "string", false, "a column with the sum of EXPR's values", several = true },
}

-- Each kind: its columns, the source of its key, and the fields of a row and the text for a key.
local KINDS = {
  process = {
    columns = { { "comm", "Process", "text", 15 }, { "pid", "PID", "number", 7 } },
    source = "{ e.task.group_leader.comm, e.pid }",
    fill = function(_, row, key) row.comm, row.pid = key[1], key[2] end,
    text = function(_, key) return ("%s (pid %d)"):format(key[1], key[2]) end,
  },
  thread = {
    columns = { { "comm", "Thread", "text", 15 }, { "pid", "PID", "number", 7 }, { "tid", "TID", "number", 7 } },
    source = "{ e.comm, e.pid, e.tid }",
    fill = function(_, row, key) row.comm, row.pid, row.tid = key[1], key[2], key[3] end,
    text = function(_, key) return ("%s (pid %d, thread %d)"):format(key[1], key[2], key[3]) end,
  },
  cpu = {
    columns = { { "cpu", "CPU", "number", 3 } },
    source = "e.cpu",
    fill = function(_, row, key) row.cpu = key end,
    text = function(_, key) return ("CPU %d"):format(tonumber(key)) end,
  },
}

local function is_word(what) return what:find "^[%a_]+$" ~= nil end

-- VALUE of an expression in one line.
local shown = record.line

-- The part of KEY that is of the Ith of KINDS.
local function part(kinds, key, i)
  if #kinds == 1 then return key end
  return key[i]
end

local Who = {}
Who.__index = Who

-- fill(row, key): puts the fields of the columns into ROW, for KEY, a value of who.key. Returns the row.
function Who:fill(row, key)
  if type(row) ~= "table" then error("who:fill: the first argument is a row, a table", 2) end
  local kinds = self.kinds
  for i, kind in ipairs(kinds) do kind:fill(row, part(kinds, key, i)) end
  return row
end

-- text(key): one text for people, "redis-server (pid 4242)".
function Who:text(key)
  local words, kinds = {}, self.kinds
  for i, kind in ipairs(kinds) do words[i] = kind:text(part(kinds, key, i)) end
  return table.concat(words, ", ")
end

-- The kind of WHAT, an argument of --by.
local function kind_of(what, at_return)
  if type(what) ~= "string" then error("by.new: --by is a text, not " .. text.shown(what), 3) end
  if what == "cgroup" or what == "container" then return cgroups.kind(what) end
  if KINDS[what] then
    local key = require "uplua".expression(KINDS[what].source, { name = "--by" })
    return setmetatable({ key = key }, { __index = KINDS[what] })
  end
  if is_word(what) then
    local words = { "process", "thread", "cgroup", "container", "cpu" }
    args.fail("--by: process, thread, cgroup, container, cpu or an expression of the event such as e.uid, not '%s'%s",
      what, text.did_you_mean(what, words))
  end
  return {
    columns = { { "by", what, "text", 15 } },
    key = require "uplua".expression(what, { name = "--by", at_return = at_return }),
    fill = function(_, row, key) row.by = key end,
    text = function(_, key) return shown(key) end,
  }
end

-- The kind of KEY, { name, field, unit, source }, as by/named.lua has it.
local function kind_of_key(key, at_return)
  return {
    columns = { { key.field, key.name, key.unit or "text", 15, option = "--key" } },
    key = require "uplua".expression(key.source, { name = "--key", at_return = at_return }),
    fill = function(_, row, value) row[key.field] = value end,
    text = function(_, value) return key.named and ("%s %s"):format(key.name, shown(value)) or shown(value) end,
  }
end

local TUPLE = 8 -- more keys than a person can read

-- A function for handlers that returns what FUNCTIONS return of the event: a tuple of several.
local function joined(functions)
  if #functions == 1 then return functions[1] end
  local names, calls = {}, {}
  for i = 1, #functions do names[i], calls[i] = "k" .. i, ("k%d(e)"):format(i) end
  local source = ("local %s = ... return function(e) return { %s } end")
    :format(table.concat(names, ", "), table.concat(calls, ", "))
  return capture.inlined(assert(loadstring(source, "=by"))(unpack(functions)))
end

local NEW = {
  at_return = option_table.text,
  keys = option_table.check("a list of texts", function(keys) return type(keys) == "table" and keys or nil end),
}

-- new(what, [options]): by whom WHAT says, as its user gives it with --by, and by the values of the expressions KEYS,
-- an option, as the user gives them with --key: a table with
--   key          a function of the event, for handlers: a number, a text, or a tuple
--   columns      columns for a view, the first of them
--   title        what one of these is called: "Process"
--   fill, text   the fields of a row, and a text, for a key
-- nil if WHAT is nil or false and there are no keys. The option at_return is that of up.expression. Ends the script
-- where WHAT is none of the words and no expression.
function by.new(what, options)
  local given = option_table.read("by.new", option_table.named(options or {}), NEW)
  local kinds, functions, columns = {}, {}, {}
  if what then kinds[1] = kind_of(what, given.at_return) end
  for _, key in ipairs(named.list(given.keys or {}, "key")) do kinds[#kinds + 1] = kind_of_key(key, given.at_return) end
  if #kinds == 0 then return nil end
  if #kinds > TUPLE then args.fail("--key: it is given too often; %d columns are the most", TUPLE) end
  for i, kind in ipairs(kinds) do
    functions[i] = kind.key
    for _, column in ipairs(kind.columns) do
      column.option = column.option or "--by"
      columns[#columns + 1] = column
    end
  end
  return setmetatable({ key = joined(functions), columns = columns, title = columns[1][2], kinds = kinds }, Who)
end

local AT_RETURN = { at_return = option_table.text }

-- value(what, [options]): the expression WHAT, as the user gives it with --value: a table with
--   of           a function of the event, for handlers: a number
--   name, unit   what it is called, and "ns", "bytes", "count", "number", or nil where nothing is said of it
-- The option at_return is that of up.expression.
function by.value(what, options)
  if type(what) ~= "string" then error("by.value: --value is a text, not " .. text.shown(what), 2) end
  local at_return = option_table.read("by.value", option_table.named(options or {}), AT_RETURN).at_return
  local value = named.one(what, "value")
  local of = require "uplua".expression(value.source, { name = "--value", kind = "number", at_return = at_return })
  return { of = of, name = value.name, unit = value.unit }
end

-- sums(list, [options]): the sums of the expressions LIST, as the user gives them with --sum (nil: none): a table with
--   add(e, key)  a function for handlers: adds each one's value at the event under the key, before the hit is counted
--   values(e), put(values, key)  the same in two steps, for what begins at one event and is counted at another: a
--                number, or a tuple, for the handler to keep, and what adds it
--   columns      columns for a view
--   take()       has the sums since the last take, for fill(row, key), which puts them into a row; it comes before the
--                take of the hits: so each sum has a row, in this report or in the next
--   clear()      a take thrown away
-- The option at_return is that of up.expression.
function by.sums(list, options)
  return sums.new(list, option_table.read("by.sums", option_table.named(options or {}), AT_RETURN).at_return)
end

-- container(path): the container that the cgroup PATH belongs to, as its runtime names it; nil if the path names none.
by.container = cgroups.container

return by
