-- ./uplua tools/machine.lua: on what machine tests ran, in a few lines: what they may depend on.
local core = require "uplua.core"

local function of_command(command, pattern)
  local pipe = io.popen(command .. " 2>/dev/null")
  local text = pipe:read "*a"
  pipe:close()
  return text:match(pattern)
end

local function of_file(path, pattern)
  local file = io.open(path)
  local text = file and file:read "*a" or ""
  if file then file:close() end
  return text:match(pattern)
end

local function price(entry)
  local ns, why = core.cost.trap("entry", entry)
  return ns and ("%.2f us"):format(ns / 1000) or why
end

local CPU = "/proc/cpuinfo"
print(("# machine: %s, family %s, model %s; %s CPUs, %d MB; hypervisor: %s; Linux %s"):format(
  of_file(CPU, "model name%s*: ([^\n]*)") or jit.arch, of_file(CPU, "cpu family%s*: (%d+)") or "?",
  of_file(CPU, "model%s*: (%d+)") or "?", of_command("nproc", "%d+") or "?",
  (of_file("/proc/meminfo", "MemTotal: *(%d+)") or 0) / 1024,
  of_command("dmesg", "Hypervisor detected: ([^\n]*)") or of_command("lscpu", "Hypervisor vendor: *([^\n]*)") or "?",
  core.system.kernel()))
print(("# load: %s; a hit costs %s where the instruction is emulated, %s where it is stepped"):format(
  of_file("/proc/loadavg", "%S+ %S+ %S+") or "?", price "emulated", price "stepped"))
for _, feature in ipairs(require "uplua.run.info".features()) do
  if feature.name == "pmu" or feature.name == "watchpoint" then
    print(("# %s: %s%s"):format(feature.name, feature.available and "yes" or "no",
                                feature.why and ", " .. feature.why or ""))
  end
end
