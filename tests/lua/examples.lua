-- The examples of a manual: its ```lua blocks, each with the ```text that follows it.
local target = require "target"

local examples = {}

-- True if CODE probes functions of the kernel and this kernel has no kprobes, or watches where watchpoints cannot be
-- trusted: it can be compiled, but not run.
function examples.lacks_kernel(code)
  if code:find "%f[%w]watch%(" and not target.watches() then return true end
  local device = io.open "/sys/bus/event_source/devices/kprobe/type"
  if device then device:close() end
  return not device and (code:find "%f[%w]kr?e?t?probe" or code:find "%f[%w]fe[nx][it]") ~= nil
end

-- A list of { code, output (nil if there is none), line where the code begins, heading above it }.
function examples.of(path)
  local list, block, language, number, heading = {}, nil, nil, 0, ""
  for line in io.lines(path) do
    number = number + 1
    local fence = line:match "^```(%a*)"
    if block and fence then
      if language == "lua" then
        list[#list + 1] = { code = table.concat(block, "\n"), line = number - #block, heading = heading }
      elseif language == "text" then
        list[#list].output = table.concat(block, "\n")
      end
      block = nil
    elseif fence then
      block, language = {}, fence
    elseif block then
      block[#block + 1] = line
    else
      heading = line:match "^#+ (.*)" or heading
    end
  end
  return list
end

-- Compiles CODE where the shop is, and attaches nothing.
function examples.explain(code)
  return target.shell(([[cd build/examples && ../../uplua --explain -e %s >"$D/out" 2>"$D/err"]])
    :format(target.quote(code)))
end

-- What uplua prints for CODE, the shop's own line and uplua's "tracing …" left out.
function examples.run(code)
  local result = target.shell(([[
    cd build/examples
    ../../uplua -e %s -- ./shop >"$D/out" 2>&1 </dev/null
  ]]):format(target.quote(code)))
  local lines = {}
  for line in result.out:gmatch "[^\n]+" do
    if not line:match "^%d+ orders, income" and not line:match "^uplua: tracing" then
      lines[#lines + 1] = line:match "^(.-)%s*$"
    end
  end
  return table.concat(lines, "\n")
end

return examples
