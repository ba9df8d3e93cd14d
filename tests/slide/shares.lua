-- At how many functions of Debian's binaries a hit costs no step, in percent: by what the handler reads. Prints the
-- table of doc/internals.md.
local core = require "uplua.core"

local COLUMNS = {
  { "nothing", 0 }, { "arg0", 1 }, { "arg0–2", 3 }, { "all six", 6 }, { "arg0, and the return", 1, true },
}
print "| functions of | in all | at the entry | nothing | arg0 | arg0–2 | all six | arg0, and the return |"
print "|---|---|---|---|---|---|---|---|"
for _, name in ipairs {
  "libc", "libcrypto", "libssl", "/usr/bin/python3", "/usr/bin/redis-server", "libjemalloc",
} do
  local sites, missing = core.probe.resolve(name .. ":*", "exact")
  if sites then
    local row, count = {}, nil
    local at_entry = core.probe.resolve(name .. ":*", "off"):emulated(0)
    for i, column in ipairs(COLUMNS) do
      local emulated
      emulated, count = sites:emulated(column[2], column[3])
      row[i] = ("%.1f"):format(100 * emulated / count)
    end
    print(("| %s | %d | %.1f | %s |"):format(name:match "[^/]+$", count, 100 * at_entry / count,
                                             table.concat(row, " | ")))
  else
    print(missing)
  end
end
