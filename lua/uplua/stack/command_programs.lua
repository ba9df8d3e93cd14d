-- The programs that a command line will execute, as far as its words tell: `env python3 x.py`, `sh -c 'make && ls'`, a
-- script's `#!`. What else it executes is not known before, but for what gcc does; and a word that is only taken for a
-- program costs some time, no more.
local ffi      = require "ffi"
local contract = require "uplua.contract"
local core     = require "uplua.core"

local C = contract.C

local command_programs = {}

local MOST = 32 -- programs, of one line
local SHELLS = { sh = true, bash = true, dash = true, ksh = true, zsh = true, busybox = true, ash = true }
local BEFORE_COMMANDS = {
  ["do"] = true, ["then"] = true, ["else"] = true, ["if"] = true, ["while"] = true, ["until"] = true, ["!"] = true,
  ["{"] = true, exec = true, time = true, env = true, nice = true, sudo = true, xargs = true,
}

-- Programs that are executed by programs of these names, and that no command line names: names and patterns of glob(7).
-- Nothing takes as long to make tables of as a compiler proper, which is over before that is done.
local CC  = { "/usr/lib/gcc/*/*/cc1", "/usr/libexec/gcc/*/*/cc1", "as" }
local CXX = { "/usr/lib/gcc/*/*/cc1plus", "/usr/libexec/gcc/*/*/cc1plus", "as" }
local EXECUTED = { make = { "cc" }, gmake = { "cc" }, cc = CC, gcc = CC, ["c++"] = CXX, ["g++"] = CXX }

local function basename(path) return path:match "[^/]*$" end

-- The words of the shell's line TEXT that stand where a command does; quotes are read over.
local function commands_of(text)
  local words = {}
  for part in text:gsub("[\"'`]", " "):gmatch "[^;|&()\n]+" do
    for word in part:gmatch "%S+" do
      words[#words + 1] = word
      if not BEFORE_COMMANDS[word] and not word:find "=" then break end
    end
  end
  return words
end

-- The words behind the #! of the script PATH; none for another file.
local function interpreter_of(path)
  local file = io.open(path, "rb") -- a regular file: core.target.find has found it
  local first = file and file:read(256) or ""
  if file then file:close() end
  local words = {}
  for word in (first:match "^#!([^\n]*)" or ""):gmatch "%S+" do words[#words + 1] = word end
  return words
end

-- The paths that PATTERN stands for; itself where it is a name.
local function expand(pattern)
  if not pattern:find "/" then return { pattern } end
  local found, paths = ffi.new "struct uplua_glob", {}
  if C.glob(pattern, 0, nil, found) == 0 then
    for i = 1, tonumber(found.gl_pathc) do paths[i] = ffi.string(found.gl_pathv[i - 1]) end
  end
  C.globfree(found)
  return paths
end

local add

-- Adds the programs of WORDS, of which the first is executed and others may be.
local function add_words(list, words)
  for i, word in ipairs(words) do
    if i > 1 and word == "-c" and SHELLS[basename(words[1])] and words[i + 1] then
      for _, command in ipairs(commands_of(words[i + 1])) do add(list, command) end
      return
    end
    add(list, word)
  end
end

-- Adds the program that WORD stands for, if it is one, and what it is executed by.
function add(list, word)
  local path = not word:find "^-" and #list < MOST and core.target.find(word)
  if not path or list[path] then return end
  list[path] = true
  list[#list + 1] = path
  add_words(list, interpreter_of(path))
  for _, pattern in ipairs(list.children and EXECUTED[basename(path)] or {}) do
    for _, executed in ipairs(expand(pattern)) do add(list, executed) end
  end
end

-- The paths of the programs of the command line ARGV, { "env", "python3", … }; CHILDREN: those of processes that these
-- start, too.
function command_programs.programs(argv, children)
  local list = { children = children }
  add_words(list, argv)
  return list
end

return command_programs
