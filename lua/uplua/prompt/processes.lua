-- The processes that can be typed by their numbers, as Tab offers them: with their names beside them.
local core = require "uplua.core"
local proc = require "uplua.base.proc"
local text = require "uplua.base.text"

local processes = {}

-- What begins with TYPED, behind PREFIX: numbers of processes, sorted as text, and number → "NUMBER  name". Threads of
-- the kernel, which have no command line, are nobody's target.
function processes.beginning(prefix, typed)
  local list, labels = {}, {}
  for _, pid in ipairs(core.system.names "/proc" or {}) do
    if pid:find "^%d+$" and pid:sub(1, #typed) == typed and (proc.read("%s/cmdline", pid) or "") ~= "" then
      local word = prefix .. pid
      list[#list + 1] = word
      labels[word] = ("%s  %s"):format(pid, text.escape(proc.comm(pid) or ""))
    end
  end
  return list, labels
end

return processes
