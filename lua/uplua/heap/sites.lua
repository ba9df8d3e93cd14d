-- Allocation sites: the functions that have asked for memory, past those that only hand on what others ask for. These
-- are at the inner end of a stack
--   the functions of the table of allocators (uplua.allocators.functions), operators new, and WRAPPERS below
--   what lies in a file of RUNTIMES below: the C library, C++'s, an allocator
--   what C++'s and Rust's standard libraries have put into the program itself: by its name, or by the source file
-- Where a stack has no other function, its innermost one is the site.
local callers   = require "uplua.stack.callers"
local frame     = require "uplua.stack.frame"
local functions = require "uplua.allocators.functions"
local pattern   = require "uplua.base.pattern"
local stack     = require "uplua.stack.stack"

local sites = {}

-- The names under which programs and libraries hand allocations on.
local WRAPPERS = [[
  xmalloc xcalloc xrealloc xreallocarray xzalloc xstrdup xstrndup xmemdup xmemdupz xnmalloc xnrealloc x2realloc
  x2nrealloc xcharalloc xvasprintf xasprintf safe_malloc safe_calloc safe_realloc emalloc ecalloc erealloc estrdup
  zmalloc zcalloc zrealloc zstrdup zcalloc_num zmalloc_usable zcalloc_usable zrealloc_usable ztrymalloc ztrycalloc
  ztryrealloc ztrymalloc_usable ztrycalloc_usable ztryrealloc_usable ztrymalloc_usable_internal
  ztrycalloc_usable_internal ztryrealloc_usable_internal
  g_malloc g_malloc0 g_malloc_n g_malloc0_n g_realloc g_realloc_n g_try_malloc g_try_malloc0 g_try_malloc_n
  g_try_malloc0_n g_try_realloc g_try_realloc_n g_aligned_alloc g_aligned_alloc0 g_slice_alloc g_slice_alloc0
  g_slice_copy g_strdup g_strndup g_strdup_printf g_strdup_vprintf g_memdup g_memdup2
  CRYPTO_malloc CRYPTO_zalloc CRYPTO_realloc CRYPTO_clear_realloc CRYPTO_strdup CRYPTO_strndup CRYPTO_memdup
  CRYPTO_malloc_array CRYPTO_calloc CRYPTO_aligned_alloc
  PyMem_RawMalloc PyMem_RawCalloc PyMem_RawRealloc PyMem_Malloc PyMem_Calloc PyMem_Realloc PyObject_Malloc
  PyObject_Calloc PyObject_Realloc _PyMem_RawMalloc _PyMem_RawCalloc _PyMem_RawRealloc
  strdup __strdup strndup __strndup wcsdup asprintf __asprintf vasprintf __vasprintf_internal getline getdelim
  _IO_getdelim realpath fopen fdopen opendir open_memstream _IO_file_doallocate pthread_create _dl_allocate_tls
]]

-- By what the names of such files begin.
local RUNTIMES = {
  "libc.so", "libc-2", "libc.musl", "ld-linux", "ld-musl", "ld-2", "libpthread.so", "libpthread-2", "libgcc_s",
  "libstdc++", "libc++", "libjemalloc", "libtcmalloc", "libmimalloc",
}

-- Where in a demangled name the names of the standard libraries begin, and in a source file's.
local LIBRARIES = {
  "std::", "__gnu_cxx::", "__cxxabiv1::", "alloc::alloc::", "alloc::raw_vec::", "alloc::vec::", "alloc::string::",
  "alloc::boxed::", "alloc::collections::", "alloc::slice::", "alloc::str::", "alloc::rc::", "alloc::sync::",
  "alloc::borrow::", "alloc::fmt::", "core::ops::", "core::iter::", "core::option::", "core::result::", "core::slice::",
  "core::str::", "hashbrown::", "__rust_", "__rdl_", "__rg_",
}
local SOURCES = { "/include/c++/", "/rustc/" }

local wrappers = {}
for name in WRAPPERS:gmatch "%S+" do wrappers[name] = true end

local function begins_with(text, list)
  for _, one in ipairs(list) do
    if text:sub(1, #one) == one then return true end
  end
  return false
end

-- NAME, of C++ or Rust as people read it, without the parameters, template arguments and type of the result:
-- "void std::vector<int>::push_back<int>(int&&)" → "std::vector::push_back".
local function plain(name)
  name = name:gsub("^<+&*(.-) as .*$", "%1") -- Rust's <T as Trait>::f, …
  local type, rest = name:match "^(%b<>)(::.*)$" -- … and <T>::f
  if type then name = type:sub(2, -2) .. rest end
  local kept, depth = {}, 0
  for char in name:gmatch "." do
    if char == "<" then
      depth = depth + 1
    elseif char == ">" then
      depth = depth - 1
    elseif char == "(" and depth == 0 and #kept > 0 then
      break
    elseif depth <= 0 then
      kept[#kept + 1] = char
    end
  end
  return (table.concat(kept):match "[^ ]*$")
end

-- NAME without what compilers add to the copies and parts that they make of a function: ".constprop.0", ".cold".
local function without_suffix(name) return (name:gsub("%.[%a_]+%.%d+", ""):gsub("%.cold$", "")) end

-- new([given]) → what tells sites. GIVEN: patterns of names that the user calls wrappers, too.
local function new(given)
  local known = {}
  local function hands_on(one)
    if one.module and begins_with(frame.basename(one.module), RUNTIMES) then return true end
    if one.file then
      for _, folder in ipairs(SOURCES) do
        if one.file:find(folder, 1, true) then return true end
      end
    end
    if not one.symbol then return false end
    local name = without_suffix(one.symbol)
    if wrappers[name] or functions.is_one(name) or name:find "^operator new" then return true end
    for _, wanted in ipairs(given or {}) do
      if pattern.matches(wanted, name) or pattern.matches(wanted, plain(one.symbol)) then return true end
    end
    return begins_with(plain(one.symbol), LIBRARIES)
  end
  -- Whether the function ONE only hands on; asked once for each.
  return function(one)
    if known[one] == nil then known[one] = hands_on(one) end
    return known[one]
  end
end

-- What a function is called; one of which nothing is known by its place in the file.
local NAME = { offsets = false }
local function name_of(one)
  return (one.symbol or one.start) and frame.function_name(one) or frame.text(one, NAME)
end

-- The functions of stack S from its site on, and what is said of a stack that does not end in its program's beginning.
local function functions_of(s, known, hands_on)
  local list, first = {}, nil
  local incomplete = stack.each_function(s, known, function(one)
    if not first and not hands_on(one) then first = #list + 1 end
    list[#list + 1] = one
  end)
  return list, first or 1, incomplete
end

local function share_of(bytes, all) return all > 0 and 100 * bytes / all or 0 end

-- tree(list, options) → LIST, of { stack, bytes, blocks }, merged from the allocation sites up, as a list of
--   name, depth, branch  of the site, of its callers and theirs (uplua.stack.callers)
--   bytes, blocks        of all that comes this way
--   share                of all bytes of LIST, in percent
-- and what was left out, { ways, bytes, blocks }. OPTIONS: top (10; 0: all), the ways to allocations with the most
-- bytes, wrappers (a list of patterns of names that are no sites, either).
function sites.tree(list, options)
  options = options or {}
  local tree, known, hands_on = callers.new { "bytes", "blocks" }, {}, new(options.wrappers)
  local all = 0
  for _, row in ipairs(list) do
    local found, first, incomplete = functions_of(row.stack, known, hands_on)
    local names = {}
    for i = first, #found do names[#names + 1] = name_of(found[i]) end
    names[#names + 1] = incomplete
    tree:add(names, row)
    all = all + row.bytes
  end
  local top = options.top or 10
  local ways, rest = tree:cut(top == 0 and math.huge or top)
  local lines = tree:lines()
  for _, one in ipairs(lines) do one.share = share_of(one.bytes, all) end
  return lines, { ways = ways, bytes = rest.bytes, blocks = rest.blocks }
end

-- What is told apart of a site, by what the table is by: its name, and what else the row has.
local APART = {
  ["function"] = function(one) return name_of(one), one.module and frame.basename(one.module) or nil end,
  module = function(one) return one.module and frame.basename(one.module) or "[unknown]" end,
  line = function(one)
    local at = one.file and ("%s:%s"):format(frame.basename(one.file), one.line or "?") or nil
    return name_of(one), one.module and frame.basename(one.module) or nil, at
  end,
}
sites.APART = APART

-- table(list, by, options) → LIST by the allocation sites' "function", "module" or "line": a list of
--   name            the function or the module's file
--   module, at      that file's base name; by line "shop.c:23", where debug information tells
--   bytes, blocks, stacks, share
-- the most bytes first. OPTIONS: wrappers, as of tree.
function sites.table(list, by, options)
  local known, hands_on, rows, by_id, all = {}, new(options and options.wrappers), {}, {}, 0
  for _, held in ipairs(list) do
    local found, first = functions_of(held.stack, known, hands_on)
    local name, module, at = APART[by](found[first])
    local id = table.concat({ name, module or "", at or "" }, "\n")
    local row = by_id[id]
    if not row then
      row = { name = name, module = module, at = at, bytes = 0, blocks = 0, stacks = 0 }
      by_id[id], rows[#rows + 1] = row, row
    end
    row.bytes, row.blocks, row.stacks = row.bytes + held.bytes, row.blocks + held.blocks, row.stacks + 1
    all = all + held.bytes
  end
  table.sort(rows, function(a, b)
    if a.bytes ~= b.bytes then return a.bytes > b.bytes end
    return a.name .. "\n" .. (a.at or "") .. "\n" .. (a.module or "") <
      b.name .. "\n" .. (b.at or "") .. "\n" .. (b.module or "")
  end)
  for _, row in ipairs(rows) do row.share = share_of(row.bytes, all) end
  return rows
end

return sites
