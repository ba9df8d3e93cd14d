-- Probes that saw nothing of the target, where something else may be meant: what they name happens in other tasks, or
-- another file of the target defines the function, too. Each kind of probe says what that is for it.
local core    = require "uplua.core"
local failure = require "uplua.base.failure"
local text    = require "uplua.base.text"

local without_hits = {
  -- What takes the others' hits, too …
  OF_ALL = "{ all = true } takes these, too, as a run without a target does",
  OF_FUNCTIONS = "a run without a target takes these", -- … of the kernel's functions
}

-- in_others(instead) → for a kind of probe that the kernel passes in any task, also where it works for the target:
-- SAYS(spec, others), what is said where there was no hit, but OTHERS of what is not traced. INSTEAD: what takes these.
function without_hits.in_others(instead)
  return function(spec, others)
    if others == 0 or spec:find "^syscalls:" then return end -- these are the caller's
    return ("no hit in the target, and %s in other tasks, where the kernel may work for it: %s")
      :format(text.thousands(others), instead)
  end
end

local function base_name(path) return path:match "[^/]*$" end

-- PATH without links: a program may have several names.
local function real_path(path) return core.system.real_path(path) or path end

-- What SPEC calls a file of that PATH: "libc" for /lib/libc.so.6.
local function short_name(path)
  local name = base_name(path)
  return name:match "^(lib[^.]*)%.so" or name
end

-- elsewhere(spec) → the same for functions of programs: which other files of the target define the function that SPEC
-- names, "libc:malloc".
function without_hits.elsewhere(spec)
  local file, name = spec:match "^([^:@]+):([%a_][%w_]*)$"
  if not file then return end
  local ok, paths = pcall(core.module.defining, { name })
  local found, sites = pcall(core.probe.resolve, spec, "exact", false)
  local own = found and sites and real_path(sites:list()[1].path)
  local specs, here = {}, short_name(file)
  for _, path in ipairs(ok and paths or {}) do
    local other = base_name(path)
    -- The loader has functions of its own, and libc may also be called libc-2.31.so.
    if real_path(path) ~= own and short_name(path) ~= here and not other:find "^ld[%-.]"
      and other:sub(1, #here + 1) ~= here .. "-" then
      specs[#specs + 1] = short_name(path) .. ":" .. name
    end
  end
  if #specs == 0 then return end
  return ("no hit; the target has a %s elsewhere, too: %s"):format(name, text.escape(table.concat(specs, ", ")))
end

-- Says it of the probes of LIST, as uplua.probe.handle has it.
function without_hits.tell(list)
  if #core.target.pids() == 0 then return end
  for _, one in ipairs(list) do
    local provider, spec, others = unpack(one)
    local said = provider.without_hits and provider.without_hits(spec, others)
    if said then failure.report(("%s %s: %s"):format(provider.name, text.escape(spec), said)) end
  end
end

return without_hits
