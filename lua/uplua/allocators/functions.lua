-- The functions that give a program memory and take it back, by name: those of C and C++, and what jemalloc, tcmalloc
-- and mimalloc have besides, also under the prefixes with which they are linked into programs (_rjem_: Rust's). A
-- written table: names that merely look like these are none of them.
--
-- Who calls a function of the table is told by handlers how much memory that is, and where: each row has
--   does   "allocates" (returns the block), "allocates to" (stores its address where the first argument leads, and
--          returns an errno), "reallocates" or "frees"
--   block  of the event: the block that is passed
--   bytes  of the event: the size that is asked for
--   lost   of a reallocation that fails: true if the block that was passed is free all the same; without it, never
--   to     of a reallocation: the new block, 0 if it has failed; without it, what the function returns
--   alignment of the event: that of the block, in a function that C++'s operators call with a size that they round up
--   throws true: C++'s std::bad_alloc may leave the function
--   c, cxx, own   the names: of the C library's functions, of C++'s operators, and of the allocators' own
local bit = require "bit"
local up = require "uplua"
local capture = require "uplua.compile.capture"
local core = require "uplua.core"

local functions = {}

local function first(e) return e.arg0 end
local function second(e) return e.arg1 end
local function third(e) return e.arg2 end
local function first_by_second(e) return e.arg0 * e.arg1 end
local function second_by_third(e) return e.arg1 * e.arg2 end
local function third_by_fourth(e) return e.arg2 * e.arg3 end
local function second_is_0(e) return e.arg1 == 0 end
local function third_is_0(e) return e.arg2 == 0 end
local function second_or_third_is_0(e) return e.arg1 == 0 or e.arg2 == 0 end
local function third_or_fourth_is_0(e) return e.arg2 == 0 or e.arg3 == 0 end
local function always(e) return e.ret == 0 end

local ONES, HIGHS = 0x0101010101010101ULL, 0x8080808080808080ULL

-- Of a function that returns a copy of a text, a block of whole words: the text's bytes with its NUL.
local function text(e)
  local bytes, word = 0, up.read_u64(e.ret)
  while word and bit.band(word - ONES, bit.bnot(word), HIGHS) == 0 do
    bytes = bytes + 8
    word = up.read_u64(e.ret + bytes)
  end
  while word and bit.band(word, 255) ~= 0 do
    bytes, word = bytes + 1, bit.rshift(word, 8)
  end
  return bytes + 1
end

-- xallocx(block, size, extra, flags) returns the size that the block has then, at most size + extra; it has failed
-- where that is below size.
local function resized(e) return e.ret >= e.arg1 and e.arg0 or 0 end
local function resized_bytes(e) return e.ret < e.arg1 + e.arg2 and e.ret or e.arg1 + e.arg2 end

local ROWS = {
  { does = "allocates", bytes = first,
    c = "malloc valloc pvalloc __libc_malloc __libc_valloc __libc_pvalloc",
    cxx = [[ _ZnwmRKSt9nothrow_t _ZnwmSt11align_val_tRKSt9nothrow_t _ZnamRKSt9nothrow_t
             _ZnamSt11align_val_tRKSt9nothrow_t _ZnwmRKSt9nothrow_t12__hot_cold_t
             _ZnwmSt11align_val_tRKSt9nothrow_t12__hot_cold_t _ZnamRKSt9nothrow_t12__hot_cold_t
             _ZnamSt11align_val_tRKSt9nothrow_t12__hot_cold_t ]],
    own = [[ mallocx je_malloc je_mallocx je_valloc je_pvalloc _rjem_malloc _rjem_mallocx _rjem_valloc
             _rjem_pvalloc tc_malloc tc_malloc_skip_new_handler tc_valloc tc_pvalloc tc_new_nothrow
             tc_new_aligned_nothrow tc_newarray_nothrow tc_newarray_aligned_nothrow mi_malloc mi_malloc_small
             mi_malloc_aligned mi_malloc_aligned_at mi_zalloc mi_zalloc_small mi_zalloc_aligned
             mi_zalloc_aligned_at mi_umalloc mi_umalloc_small mi_umalloc_aligned mi_uzalloc mi_uzalloc_small
             mi_uzalloc_aligned mi_valloc mi_pvalloc mi_new_nothrow mi_new_aligned_nothrow ]] },
  { does = "allocates", bytes = first, throws = true,
    cxx = [[ _Znwm _ZnwmSt11align_val_t _Znam _ZnamSt11align_val_t _Znwm12__hot_cold_t
             _ZnwmSt11align_val_t12__hot_cold_t _Znam12__hot_cold_t _ZnamSt11align_val_t12__hot_cold_t
             __size_returning_new __size_returning_new_hot_cold __size_returning_new_aligned
             __size_returning_new_aligned_hot_cold ]],
    own = "tc_new tc_new_aligned tc_newarray tc_newarray_aligned mi_new mi_new_aligned" },
  { does = "allocates", bytes = second, alignment = first,
    c = "memalign aligned_alloc __libc_memalign" },
  { does = "allocates", bytes = second,
    own = [[ je_memalign je_aligned_alloc _rjem_memalign _rjem_aligned_alloc tc_memalign mi_memalign
             mi_aligned_alloc mi_heap_malloc mi_heap_malloc_small mi_heap_malloc_aligned mi_heap_malloc_aligned_at
             mi_heap_zalloc mi_heap_zalloc_small mi_heap_zalloc_aligned mi_heap_zalloc_aligned_at mi_heap_alloc_new
             mi_heap_umalloc mi_theap_malloc mi_theap_malloc_small mi_theap_malloc_aligned mi_theap_zalloc
             mi_theap_zalloc_small ]] },
  { does = "allocates", bytes = first_by_second,
    c = "calloc __libc_calloc",
    own = [[ je_calloc _rjem_calloc tc_calloc mi_calloc mi_calloc_aligned mi_calloc_aligned_at mi_mallocn
             mi_ucalloc ]] },
  { does = "allocates", bytes = first_by_second, throws = true, own = "mi_new_n" },
  { does = "allocates", bytes = second_by_third,
    own = [[ mi_heap_calloc mi_heap_calloc_aligned mi_heap_calloc_aligned_at mi_heap_mallocn mi_heap_alloc_new_n
             mi_theap_calloc ]] },
  { does = "allocates", bytes = text, own = "mi_strdup mi_strndup mi_mbsdup mi_heap_strdup mi_heap_strndup" },
  { does = "allocates to", bytes = third,
    c = "posix_memalign __posix_memalign",
    own = "je_posix_memalign _rjem_posix_memalign tc_posix_memalign mi_posix_memalign" },
  -- The C library's realloc of 0 bytes frees the block and returns NULL.
  { does = "reallocates", block = first, bytes = second, lost = second_is_0,
    c = "realloc __libc_realloc",
    own = [[ rallocx je_realloc je_rallocx _rjem_realloc _rjem_rallocx tc_realloc mi_realloc mi_realloc_aligned
             mi_realloc_aligned_at mi_rezalloc mi_rezalloc_aligned mi_rezalloc_aligned_at mi_urealloc ]] },
  { does = "reallocates", block = first, bytes = second, lost = second_is_0, throws = true, own = "mi_new_realloc" },
  { does = "reallocates", block = first, bytes = second_by_third, lost = second_or_third_is_0,
    c = "reallocarray",
    own = [[ mi_reallocn mi_reallocarray mi_recalloc mi_recalloc_aligned mi_recalloc_aligned_at mi_aligned_recalloc
             mi_aligned_offset_recalloc ]] },
  { does = "reallocates", block = first, bytes = second_by_third, lost = second_or_third_is_0, throws = true,
    own = "mi_new_reallocn" },
  { does = "reallocates", block = second, bytes = third, lost = third_is_0,
    own = [[ mi_heap_realloc mi_heap_realloc_aligned mi_heap_realloc_aligned_at mi_heap_rezalloc
             mi_heap_rezalloc_aligned mi_heap_rezalloc_aligned_at mi_theap_realloc ]] },
  { does = "reallocates", block = second, bytes = third_by_fourth, lost = third_or_fourth_is_0,
    own = "mi_heap_reallocn mi_heap_recalloc mi_heap_recalloc_aligned mi_heap_recalloc_aligned_at" },
  { does = "reallocates", block = first, bytes = second, lost = always, c = "reallocf", own = "mi_reallocf" },
  { does = "reallocates", block = second, bytes = third, lost = always, own = "mi_heap_reallocf" },
  -- These leave the block where it is.
  { does = "reallocates", block = first, bytes = second, own = "mi_expand" },
  { does = "reallocates", block = first, bytes = resized_bytes, to = resized,
    own = "xallocx je_xallocx _rjem_xallocx" },
  { does = "frees", block = first,
    c = "free cfree vfree free_sized free_aligned_sized __libc_free __libc_cfree",
    cxx = [[ _ZdlPv _ZdlPvm _ZdlPvRKSt9nothrow_t _ZdlPvSt11align_val_t _ZdlPvmSt11align_val_t
             _ZdlPvSt11align_val_tRKSt9nothrow_t _ZdaPv _ZdaPvm _ZdaPvRKSt9nothrow_t _ZdaPvSt11align_val_t
             _ZdaPvmSt11align_val_t _ZdaPvSt11align_val_tRKSt9nothrow_t ]],
    own = [[ dallocx sdallocx je_free je_free_sized je_free_aligned_sized je_dallocx je_sdallocx _rjem_free
             _rjem_free_sized _rjem_free_aligned_sized _rjem_dallocx _rjem_sdallocx tc_free tc_cfree tc_free_sized
             tc_delete tc_delete_sized tc_delete_nothrow tc_delete_aligned tc_delete_sized_aligned
             tc_delete_aligned_nothrow tc_deletearray tc_deletearray_sized tc_deletearray_nothrow
             tc_deletearray_aligned tc_deletearray_sized_aligned tc_deletearray_aligned_nothrow mi_free
             mi_free_small mi_cfree mi_free_size mi_free_size_aligned mi_free_aligned mi_ufree ]] },
}

-- Functions of this kind that no row describes: what they allocate or free is seen only where they call others of the
-- table.
local OTHERS = [[ reallocarr allocm rallocm dallocm mi_reallocarr mi_wcsdup mi_dupenv_s mi_wdupenv_s mi_realpath
                  mi_heap_realpath mi_heap_destroy mi_heap_unsafe_destroy_all ]]

-- Functions by which a program or library that brings an allocator along is recognised; others may have a function of
-- the table's names by chance.
functions.signs = {
  "malloc", "mallocx", "je_malloc", "je_mallocx", "_rjem_malloc", "_rjem_mallocx", "tc_malloc", "mi_malloc",
  "mi_malloc_aligned",
}

-- Symbols by which glibc's allocator is recognised, in its shared library and in a program that contains it.
local GLIBC = { "gnu_get_libc_version", "_int_malloc" }

local FAMILIES = { "c", "cxx", "own" }

local others, all, called = {}, {}, {} -- CALLED: those of rows
for _, name in ipairs(GLIBC) do all[#all + 1] = name end
for name in OTHERS:gmatch "%S+" do others[#others + 1], all[#all + 1] = name, name end
for _, row in ipairs(ROWS) do
  for _, part in ipairs { "block", "bytes", "alignment", "lost", "to" } do
    if row[part] then capture.inlined(row[part]) end
  end
  for _, family in ipairs(FAMILIES) do
    local names = {}
    for name in (row[family] or ""):gmatch "%S+" do 
      names[#names + 1], all[#all + 1], called[#called + 1] = name, name, name
    end
    row[family] = names
  end
end

local known = {}
for _, name in ipairs(called) do known[name] = true end

-- is_one(name): whether a function of that name is in the table.
function functions.is_one(name) return known[name] or false end

-- is_glibc(found, offsets): whether what in_module has returned is glibc's allocator, and no other one is in the
-- module.
function functions.is_glibc(found, offsets)
  for _, names in ipairs(found) do
    if #names.own > 0 then return false end
  end
  return (offsets[GLIBC[1]] or offsets[GLIBC[2]]) ~= nil
end

-- in_module(module): what MODULE of the target, named as in a spec, defines of the table: a list of { row =, family =
-- its names there, … }, of several names of one function the first; the list of functions of this kind that no row
-- describes; and { name = where in its file that function begins, … }. Raises why the module cannot be read.
function functions.in_module(module)
  local offsets, seen, found, unknown = core.module.offsets(module, all), {}, {}, {}
  for i, row in ipairs(ROWS) do
    found[i] = { row = row }
    for _, family in ipairs(FAMILIES) do
      local names = {}
      for _, name in ipairs(row[family]) do
        local offset = offsets[name]
        if offset and not seen[offset] then names[#names + 1], seen[offset] = name, true end
      end
      found[i][family] = names
    end
  end
  for _, name in ipairs(others) do
    if offsets[name] then unknown[#unknown + 1] = name end
  end
  return found, unknown, offsets
end

-- calls(module, found, offsets, several): of the functions that in_module has found, those that call others of the
-- table, { name = true, … }: these are nested, and have to tell when they begin and end. Where SEVERAL modules bring an
-- allocator along, also those that may call another module's by a pointer. And the addresses of the instructions by
-- which the rest do so far away, where they report errors or begin. Raises why the module cannot be read.
function functions.calls(module, found, offsets, several)
  local names, where, nested = {}, {}, {}
  for _, row in ipairs(found) do
    for _, family in ipairs(FAMILIES) do
      for _, name in ipairs(row[family]) do names[#names + 1], where[#where + 1] = name, offsets[name] end
    end
  end
  local kinds, far = core.module.calls_within(module, where, called)
  for i, name in ipairs(names) do
    nested[name] = kinds[i] == "others" or kinds[i] == "unclear" or (kinds[i] == "pointers" and several) or nil
  end
  return nested, far
end

return functions
