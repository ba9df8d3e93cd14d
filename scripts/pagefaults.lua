--[=[
pagefaults: which memory does a program touch for the first time, and where?

  uplua pagefaults.lua [options] [-- PID ... or COMMAND]

counts page faults by the mapping in which the address lies, and prints at the end for each how many there were and in
how many pages, and the stacks that had most.

  -M, --major            only those for which a page had to be read from a disk
      --addresses        prints each fault with its address
  -n, --top N            the N mappings and stacks with most faults (default 20; 0: all)
  -o, --output FILE      by its suffix a flame graph (.svg), folded stacks (.folded), or a profile for pprof (.pb.gz)
      --folded FILE      writes all stacks to FILE, a line each
      --flame FILE       draws all as a flame graph (SVG)
      --before FILE      with --flame: draws what differs from FILE, another run's --folded

A mapping is looked up when the script hears of the fault: of a process that has exited by then it is not known.

  $ uplua pagefaults.lua -- ./server
--]=]
local up       = require "uplua"
local files    = require "uplua.stack_files"
local mappings = require "uplua.mappings"
local stacks   = require "uplua.stacks"
local text     = require "uplua.text"
local view     = require "uplua.view"

local options = up.args {
  "pagefaults.lua [options] [-- PID ... or COMMAND]",
  { "major,M",                            "only those for which a page had to be read from a disk" },
  { "addresses",                          "print each fault with its address" },
  { "top,n",      "N", "integer",  20,    "the N mappings and stacks with most faults; 0: all" },
  files.output, files.folded, files.flame, files.before,
  arguments = 0,
}
files.check(options)

local ring = up.ring { size = "16M" }
local by_stack = up.count()

up.perf(options.major and "major-faults" or "page-faults", 1, function(e)
  by_stack[e:stack()]:inc()
  ring:emit { at = e.time, pid = e.pid, tid = e.tid, comm = e.comm, addr = e.addr }
end)

local lines = view.stream {
  { "at", "Time", "clock" }, { "tid", "TID", "number", 8 }, { "comm", "Process", "text", 15 },
  { "address", "Address", "text", 16 }, { "name", "Mapping" },
}
if options.addresses then lines:titles() end

local PAGE, MOST_PAGES = 4096, 1000000
local faults, pages = {}, {} -- by process, its name and mapping; by process and page
local page_count = 0

ring:each(function(r)
  local pid, address = tonumber(r.pid), tonumber(r.addr)
  local name = mappings.at(pid, address) or "not known: it is gone"
  if options.addresses then
    lines:print { at = r.at, tid = r.tid, comm = r.comm, address = ("%x"):format(address), name = name }
  end
  local key = ("%d\0%s\0%s"):format(pid, r.comm, name) -- another program since an exec is another row
  local row = faults[key] or { comm = r.comm, pid = pid, name = name, n = 0, pages = 0 }
  faults[key], row.n = row, row.n + 1
  local page = ("%d\0%d"):format(pid, math.floor(address / PAGE))
  if not pages[page] and page_count < MOST_PAGES then
    pages[page], row.pages, page_count = true, row.pages + 1, page_count + 1
  end
end)

local mappings = view.new {
  { "n", "Faults", "count" }, { "pages", "Pages", "count" }, { "comm", "Process" }, { "pid", "PID", "number" },
  { "name", "Mapping" }, by = "n", top = options.top,
}

up.at_exit(function()
  local list = {}
  for _, row in pairs(faults) do list[#list + 1] = row end
  local rows, sum = stacks.rows(by_stack)
  if not mappings:data(list) then
    local shown = stacks.print(rows, options.top, function(row)
      return ("%12s  faults"):format(text.thousands(row.number))
    end)
    up.printf("%s in %s\n\n", text.plural(sum, "fault"), stacks.told(rows, shown, "most frequent"))
    mappings:print(list)
    if page_count == MOST_PAGES then
      up.printf("Pages are counted up to %s: there may be more.\n", text.thousands(MOST_PAGES))
    end
  end
  files.write(options, stacks.named(rows), { title = "Page faults", unit = "faults" })
end)
