-- What the kernel tells of processes and threads in the files of /proc (proc(5)).
local proc = {}

-- read(path, …): all that the file /proc/PATH has, whose %d and %s are what follows; nil where there is no such file,
-- or its process ends meanwhile.
function proc.read(path, ...)
  local file = io.open("/proc/" .. path:format(...), "rb")
  local content = file and file:read "*a"
  if file then file:close() end
  return content
end

-- comm(id): what process or thread ID calls itself, the first line of it; nil where it is gone.
function proc.comm(id)
  local content = proc.read("%d/comm", id)
  return content and content:match "[^\n]*"
end

-- status(id): its /proc/ID/status, "" where it is gone.
function proc.status(id)
  return proc.read("%d/status", id) or ""
end

return proc
