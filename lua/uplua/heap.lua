-- The memory that the target holds: which of its blocks are lost, as no pointer to them is left in its memory; what
-- grows; and what there is for people and other tools to read.
--
--   local allocators, heap = require "uplua.allocators", require "uplua.heap"
--   local trace = allocators.trace({ blocks = 1000000, stack = true }, {})
--   up.every("10s", function()
--     heap.prove(trace, {}, function(proof) up.printf("%d bytes are lost\n", proof.sum.proven.bytes) end)
--   end)
--
-- The target is read and never written to. While it runs, pass follows pass: what is lost is found so by each, and
-- what is not drops out. With the option stop it is stopped for one pass, which is exact.
local allocators   = require "uplua.allocators.blocks"
local chunks       = require "uplua.heap.chunks"
local core         = require "uplua.core"
local difference   = require "uplua.heap.difference"
local growth       = require "uplua.heap.growth"
local held         = require "uplua.heap.held"
local hold         = require "uplua.heap.hold"
local holders      = require "uplua.heap.holders"
local loop         = require "uplua.base.loop"
local option_table = require "uplua.base.option_table"
local passes       = require "uplua.heap.passes"
local privilege    = require "uplua.base.privilege"
local profile      = require "uplua.heap.profile"
local report       = require "uplua.heap.report"
local rows         = require "uplua.heap.rows"
local run          = require "uplua.base.run"
local shape        = require "uplua.heap.shape"
local sites        = require "uplua.heap.sites"
local space        = require "uplua.allocators.space"
local text         = require "uplua.base.text"

privilege.keep "uplua.heap stops what it reads"

local heap = {}

local function duration(value)
  local ns, why = text.wait(value)
  if not ns then return nil, why end
  return ns
end

local OPTIONS = {
  passes = option_table.integer(1, 1000), stop = duration, pause = duration, share = option_table.integer(1, 100),
  most = option_table.positive,
}
local DEFAULTS = { passes = 20, pause = 100e6, share = 10, most = 64 * 2 ^ 30 }

local own = run.part(function() return { busy = false, hold = nil } end)

local function read_options(given)
  local options = option_table.read("heap.prove", given, OPTIONS, 3)
  for name, value in pairs(DEFAULTS) do options[name] = options[name] or value end
  return options
end

-- The processes whose blocks TRACE knows: { pid, wanted, since, map, layout }.
local function sources_of(trace)
  local map, layout = allocators.map_of(trace.blocks)
  local list, pids = {}, {}
  if not map then return list end
  if not space.several() then
    local pid = core.target.pids()[1]
    return { { pid = pid, since = space.left()[pid], map = map, layout = layout } }
  end
  trace:each(function(_, process, gone)
    if not gone and not pids[process] then
      pids[process] = true
      list[#list + 1] = { pid = space.process_of(process), wanted = process, map = map, layout = layout }
    end
  end)
  table.sort(list, function(a, b) return a.pid < b.pid end)
  return list
end

-- What is wrong with the process of SOURCE, as a result of which nothing is known.
local function failed(source, problem)
  local why = type(problem) == "table" and problem.text or tostring(problem)
  return { source = source, why = why, failed = true, proven = false, exact = false, passes = 0, suspects = 0 }
end

-- The proof of the processes SOURCES by OPTIONS; PAUSE(ns) lets others work meanwhile.
local function prove(sources, options, pause)
  local proof, by_name = { began = text.now(), processes = {}, proven = #sources > 0, exact = #sources > 0 }, {}
  for i, source in ipairs(sources) do
    local done, result = pcall(passes.run, source, options, pause)
    if not done then
      if type(result) ~= "table" then error(result, 0) end
      result = failed(source, result)
    else
      rows.add_result(by_name, result)
    end
    result.pid, proof.processes[i] = source.pid, result
    proof.proven, proof.exact = proof.proven and result.proven, proof.exact and result.exact
  end
  proof.stacks, proof.sum = rows.list(by_name)
  proof.ended = text.now()
  return proof
end

local function check_trace(trace)
  if type(trace) ~= "table" or not trace.blocks or not trace.with_stack then
    error("heap.prove: a trace of allocators.trace with the options blocks and stack is expected", 3)
  end
  if trace.follow or trace.sample > 1 then
    error("heap.prove: all blocks have to be followed: without the options follow and sample", 3)
  end
  if trace.counting:get() == 0 then
    error("heap.prove: blocks are not followed any more, or not yet; at the stop of a run, give up.at_stop its "
      .. "function before you call allocators.trace", 3)
  end
end

-- A process that is traced to be held at its end cannot be stopped, nor can its threads be asked for their registers:
-- it is not meanwhile.
local function without_hold(fn)
  local holding = own().hold
  if holding then holding:drop() end
  local fine, result = pcall(fn)
  if holding then holding:take() end
  if not fine then error(result, 0) end
  return result
end

-- prove(trace, [options,] done): looks which blocks are lost, while the script goes on, and calls done(proof). Returns
-- false where the last proof is not done yet.
function heap.prove(trace, options, done)
  if done == nil then options, done = nil, options end
  check_trace(trace)
  options = read_options(options)
  local mine = own()
  if mine.busy then return false end
  mine.busy = true
  local thread = coroutine.create(function()
    return without_hold(function() return prove(sources_of(trace), options, coroutine.yield) end)
  end)
  local function go_on()
    local fine, result = coroutine.resume(thread)
    if fine and coroutine.status(thread) ~= "dead" then return loop.after(result, go_on) end
    mine.busy = false
    if not fine then error(result, 0) end
    done(result)
  end
  go_on()
  return true
end

-- prove_now(trace, [options]) → the proof, once it is done: at the stop of a run, in a function that up.at_stop was
-- given before allocators.trace was called, which follows no blocks after its own.
function heap.prove_now(trace, options)
  check_trace(trace)
  options = read_options(options)
  return without_hold(function() return prove(sources_of(trace), options, loop.pause) end)
end

local CHECK = 10e6  -- ns, after which it is looked whether the command has come to its end
local GOES_ON = 5   -- such times, after which other threads still live

-- The proof of the command that HOLDING holds.
local function prove_end(trace, options, holding)
  local sources = {}
  for _, source in ipairs(sources_of(trace)) do
    if source.pid == holding.pid then sources[#sources + 1] = source end
  end
  options.hold = holding
  return prove(sources, options, loop.pause)
end

-- prove_end(trace, [options,] done): where the target is a command, holds it when it ends by itself, before its memory
-- goes, and calls done(proof): one exact pass. To be called in the main chunk, after allocators.trace. Its first thread
-- is traced by ptrace until then.
function heap.prove_end(trace, options, done)
  if done == nil then options, done = nil, options end
  if not core.target.command() then error("heap.prove_end: a command is expected as the target", 2) end
  options = read_options(options)
  local holding, timer, tries, over = hold.new(), nil, 0, false
  own().hold = holding
  local function give_up()
    timer:cancel()
    own().hold = nil
    holding:drop()
    over = true
  end
  local function miss(why)
    loop.warn(text.escape(why or ("process %d had ended before it could be held: its end has no proof"):format(
      holding.pid)))
    give_up()
  end
  loop.at_start(function() holding:take() end)
  timer = loop.every(CHECK, function()
    local held_now, why = holding:is_held()
    if held_now == false or (held_now == nil and not holding.native) then return end
    if not held_now then return miss(why) end
    tries = tries + 1
    if holding:threads() > 1 and tries < GOES_ON then return end -- they are about to end, or the first one alone has
    if holding:threads() > 1 then return give_up() end
    local proof = prove_end(trace, options, holding)
    for _, row in ipairs(proof.stacks) do holders.of(row) end -- while the process is there to be asked
    give_up()
    done(proof)
  end)
  loop.at_stop(function() -- it may have ended since the last look
    if over or not core.target.status() then return end
    local _, why = holding:is_held()
    miss(why)
  end)
end

-- holders(row) → who holds the blocks of a row of proof.stacks: { { name, bytes, blocks }, … }, the most bytes first.
heap.holders = holders.of

-- lines(proof, [top]) → the proof for people, as a list of lines: of the TOP stacks (10; 0: all) that have lost most
-- and of those that hold most.
heap.lines = report.lines

-- known(proof), sums(proof) → the begin and the end of these lines: what is known of each process, and the sums of all.
-- parts(proof) → what is lost, unreachable and held, for heap.tree and heap.sites (uplua.heap.report).
heap.known, heap.sums, heap.parts = report.known, report.total, report.parts

-- rows(proof) → the same as a list of { proven, proven_blocks, suspected, suspected_blocks, held, …, stack } for views.
heap.rows = rows.flat

-- growth([most]) → an object that remembers what was held in up to MOST reports (60): growth:add(list, now),
-- growth:of(name), growth:line(name), growth:growing(list) (uplua.heap.growth).
heap.growth = growth.new

-- difference(before, after) → how much more each stack holds in AFTER than in BEFORE, and the sum
-- (uplua.heap.difference).
heap.difference = difference

-- held(list, options), total(list, sum, options), changes(list, sum, options) → lines for people about what is held,
-- and about a difference (uplua.heap.held).
heap.held, heap.total, heap.changes = held.stacks, held.total, held.changes

local SITES = {
  top = option_table.integer(0, 2 ^ 53), wrappers = option_table.check("a list of names", function(value)
    return type(value) == "table" and value or nil
  end),
}

-- tree(list, [options]) → the stacks of LIST merged from the functions that allocate up to the outermost one, with
-- bytes, blocks and share of each, and what was left out (uplua.heap.sites).
function heap.tree(list, options) return sites.tree(list, option_table.read("heap.tree", options, SITES)) end

-- sites(list, by, [options]) → LIST by the allocating "function", "module" or "line" (uplua.heap.sites).
function heap.sites(list, by, options)
  if not sites.APART[by] then
    error(('heap.sites: the second argument is "function", "module" or "line", not %s'):format(text.shown(by)), 2)
  end
  return sites.table(list, by, option_table.read("heap.sites", options, SITES))
end

local PRINTER = {
  tree = option_table.boolean, by = option_table.check('"function", "module" or "line"', function(value)
    return sites.APART[value] and value or nil
  end), top = SITES.top, wrappers = SITES.wrappers,
}

-- printer(options) → a function that prints lists as the tree, or the table by what is said, or writes them as data
-- (uplua.heap.shape).
function heap.printer(options)
  local read = option_table.read("heap.printer", options, PRINTER)
  if not read.tree == not read.by then error("heap.printer: one of the options tree and by is expected", 2) end
  return shape.new(read)
end

-- profile(held, [totals, [proof]]) → what is held by stack, for uplua.flame, uplua.folded and uplua.pprof, and how the
-- files are to be written: the options of uplua.stack_files.
function heap.profile(list, totals, proof)
  local of = profile.of(list, totals, proof)
  return of.inuse_space, { title = "Held memory", unit = "bytes", colors = profile.colors,
    pprof = profile.pprof(of, totals ~= nil) }
end

local SCAN = { stop = duration }

-- scan(pid, [options]) → what is lost of glibc's heap in process PID, by its chunks' own headers (uplua.heap.chunks);
-- nil and the reason where there is none. Option: stop, for how long the process may be stopped at a time ("1s").
function heap.scan(pid, options)
  if type(pid) ~= "number" then error("heap.scan: the number of a process is expected", 2) end
  return chunks.of(pid, option_table.read("heap.scan", options, SCAN).stop or 1e9)
end

return heap
