-- Functions of the C library whose arguments are those of a system call: what these are, and flags, signals and other
-- constants by name, as uplua.syscalls knows them.
local list       = require "uplua.run.list"
local named      = require "uplua.trace.syscall"
local signatures = require "uplua.syscalls.signatures"

local library = {}

-- Functions that take other arguments than the call of their name.
local OTHERS = { clone = true, reboot = true, signalfd = true, brk = true, exit = true }

-- Functions that are no calls, or of another name: the call whose flags and signals theirs are, and the names and C
-- types of their arguments.
local FUNCTIONS = {
  signal = { "rt_sigaction", "int sig", "void *handler" },
  sigaction = { "rt_sigaction", "int sig", "void *act", "void *oact" },
  raise = { "!signal", "int sig" },
  killpg = { "kill", "int pgrp", "int sig" },
  pthread_kill = { "tkill", "void *thread", "int sig" },
  sigprocmask = { "rt_sigprocmask", "int how", "void *set", "void *oset" },
  pthread_sigmask = { "rt_sigprocmask", "int how", "void *set", "void *oset" },
  waitpid = { "wait4", "int pid", "void *status", "int options" },
  send = { "sendto", "int fd", "void *buf", "size_t n", "int flags" },
  recv = { "recvfrom", "int fd", "void *buf", "size_t n", "int flags" },
  shm_open = { "open", "const char *name", "int oflag", "int mode" },
  fstatat = { "newfstatat", "int fd", "const char *file", "void *buf", "int flag" },
}

local SHORT = { int = "i32", size_t = "u64" }

-- An argument as up.list has it, of its C declaration.
local function argument_of(declaration)
  local source, name = declaration:match "^(.-)%s*([%w_]+)$"
  return { name = name, type = SHORT[source] or "u64", source = source }
end

-- The call that the function NAME is, which the library has by several names: "__open64" is "open".
local function call_of(name)
  local bare = name:gsub("^__+", ""):gsub("^libc_", "")
  for _, one in ipairs { bare, (bare:gsub("64$", "")) } do
    local own = FUNCTIONS[one]
    if own then return own[1], own end
    if signatures[one] and not OTHERS[one] then return one end
  end
end

-- True if PATH is a C library's file: glibc's or musl's.
local function is_library(path)
  local file = path:match "[^/]*$"
  return file:find "^libc%.so" ~= nil or file:find "^libc%-[%d.]+%.so$" ~= nil or file:find "^ld%-musl" ~= nil
    or file:find "^libc%.musl" ~= nil or file:find "^libpthread[%-.]" ~= nil
end

-- The arguments of the function NAME, as up.list has those of calls; nil where nobody knows them.
local function arguments_of(name)
  local call, own = call_of(name)
  if own then
    local arguments = {}
    for i = 2, #own do arguments[i - 1] = argument_of(own[i]) end
    return arguments
  end
  if not call then return nil end
  local found, entries = pcall(list.list, "syscall:" .. call, true)
  return found and entries[1] and entries[1].arguments or nil
end

-- of(sites): what is known of the functions at SITES: the arguments, where they are one function of the C library, or
-- nil; and whether all are the library's.
function library.of(sites)
  local name = sites[1] and sites[1].name
  for _, site in ipairs(sites) do
    if not is_library(site.path) or site.inside > 0 then return nil, false end
    if site.name ~= name then name = nil end
  end
  return name and arguments_of(name), #sites > 0
end

-- text(name, place, value, registers): the text of VALUE, argument PLACE (from 1) of the function NAME; nil where a
-- number says as much. REGISTERS: a function of the place of another argument, its value.
function library.text(name, place, value, registers)
  local call = call_of(name)
  if call == "!signal" then call, place = "kill", place + 1 end
  return call and named.text(call, place, value, registers)
end

return library
