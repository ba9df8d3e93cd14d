-- Cgroups and containers as those by whom scripts count: the paths of cgroups, also of those that are gone, and the
-- names that containers' runtimes give in them.
local args    = require "uplua.args"
local capture = require "uplua.compile.capture"
local core    = require "uplua.core"
local text    = require "uplua.base.text"

local cgroups = {}

local DIGITS = 12              -- of a container's id, as the runtimes print it
local PATH, LEVELS = 1024, 120 -- of cgroups: bytes of a path, and how deep they are
local MOST = 65536             -- cgroups of containers

-- The container that COMPONENT of a cgroup's path names, in the folder PARENT; nil if it is none's.
local function container_of(component, parent)
  local name = component:gsub("%.scope$", "")
  local runtime, id = name:match "^([%w%-]-)%-(%x+)$"
  if id and #id == 64 and not runtime:find "conmon$" then return ("%s-%s"):format(runtime, id:sub(1, DIGITS)) end
  if #name == 64 and not name:find "%X" then
    local owner = parent:find "^pod%x" and "kubepods" or parent ~= "" and parent or "container"
    return ("%s-%s"):format(owner, name:sub(1, DIGITS))
  end
  if component:find "^lxc%.payload%." then return "lxc-" .. component:sub(#"lxc.payload." + 1) end
  if parent == "lxc" then return "lxc-" .. component end
  if parent == "machine.slice" and component:find "^machine%-.*%.scope$" then
    return "machine-" .. name:sub(#"machine-" + 1)
  end
end

-- container(path): the container that the cgroup PATH belongs to, "docker-3f4e5a6b7c8d" of one in
-- /system.slice/docker-<id>.scope: the runtime and the first digits of the id; of several, one in the other, the
-- innermost. nil if the path names none.
function cgroups.container(path)
  if type(path) ~= "string" then error("by.container: a cgroup's path is expected, not " .. text.shown(path), 2) end
  local found, parent = nil, ""
  for component in path:gmatch "[^/]+" do
    found = container_of(component, parent) or found
    parent = component
  end
  return found
end

-- Remembers the paths of cgroups in PATHS, by id: of those that there are, and of all that come. CONTAINERS is a map
-- from the cgroups of containers to each container's uppermost: what is made below one is put there by the handler,
-- before anybody can be in it.
local function watch_cgroups(paths, containers)
  local up = require "uplua"
  local made, uppermost = up.ring { order = false }, {} -- path → id of its container's
  up.raw_tracepoint("cgroup_mkdir", { all = true, every_cpu = true }, capture.inlined(function(e)
    local cgroup = e.args.cgrp
    if cgroup.root.hierarchy_id == 0 then -- of version 2
      local id, above = up.u64(cgroup.kn.id), up.u64(cgroup.self.parent.cgroup.kn.id)
      local container = containers[above]
      if container then containers[id] = container end
      made:emit { id = id, path = up.kstr(e.args.path, PATH) }
    end
  end))
  local function add(id, path)
    if paths[id] then return end
    paths[id] = path
    local name, above = cgroups.container(path), path:match "^(.*)/"
    if not name then return end
    uppermost[path] = name == cgroups.container(above) and uppermost[above] or id
    containers:set(id, uppermost[path])
  end
  made:each(function(new) add(tonumber(new.id), new.path) end)
  -- Those that there are, level by level: those above come first.
  local function list()
    for level = 1, LEVELS do
      local good, found = pcall(core.cgroup.open, ("/*"):rep(level))
      if not good then args.fail("--by: %s", (tostring(found):gsub("^.-%-%-cgroup[^:]*: ", ""))) end
      local here = found:list()
      if next(here) == nil then return end
      for id, path in pairs(here) do add(id, "/" .. path:match(("[^/]+/"):rep(level - 1) .. "[^/]+$")) end
    end
  end
  list()
  up.at_start(list) -- and those that came before the probe stood
end

-- Of WHAT, "cgroup" or "container": the columns, the function of handlers for the key, and the fields of a row and the
-- text for a key.
local function path_of(paths, id)
  id = tonumber(id)
  return paths[id] or id == 1 and "/" or ("cgroup %d"):format(id)
end

function cgroups.kind(what)
  local up = require "uplua"
  local paths, containers = {}, up.hash { max = MOST, key = "u64", value = "u64" }
  watch_cgroups(paths, containers)
  if what == "cgroup" then
    return {
      columns = { { "cgroup", "Cgroup", "text", 20 } },
      key = capture.inlined(function(e) return e.cgroup end),
      fill = function(_, row, key) row.cgroup = path_of(paths, key) end,
      text = function(_, key) return path_of(paths, key) end,
    }
  end
  local function name_of(key)
    local path = path_of(paths, key)
    return cgroups.container(path) or path
  end
  return {
    columns = { { "container", "Container", "text", 20 } },
    key = capture.inlined(function(e)
      local cgroup = up.u64(e.cgroup)
      local container = containers[cgroup]
      if container then return container end
      return cgroup
    end),
    fill = function(_, row, key) row.container = name_of(key) end,
    text = function(_, key) return name_of(key) end,
  }
end

return cgroups
