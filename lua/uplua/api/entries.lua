-- The public names, as the chapters of this folder declare them: what doc/api.md, the editors' definitions and help()
-- are made from. Nothing of a run needs them.
--
-- A chapter is { title =, types =, modules =, and in the order of the page texts and tables }. A row of a table is a
-- list of cells, of which the first declares names in its code spans, with types:
--
--   { [[`up.clock(time: ns): string`]], [[the wall clock's `12:34:56.123456` of an event's time]] },
--
-- The page shows `up.clock(time)` of that. `name?: type` is an argument that may be left out. A span without a type
-- after its name, `print(c)`, is only shown. What else a row may have:
--   defines   code spans that declare names, too, but are not shown
--   shown     true: the first cell declares nothing
--   text      what help() says, where the second cell is no description
--   raises    what is an error besides arguments of another type
--   gives_nil when the result is nil, and a reason
--   since     the version that has it first ("1.0")
--   kinds     of an event's field: the probes whose events have it; without it all
-- and a table: head (the cells of its first line), class (whose methods and fields the names are), in a chapter:
--   types     { { name, definition or nil: a class, text, parent = class, indexed = by any key,
--               keys = { name = what help() says of it } of options }, … }
--   modules   { flame = "uplua.flame" }: names that begin with `flame.` are fields of that module
--   classes   { timer = "Timer" }: names that begin with `timer:` are the class's
local entries = {}

entries.CHAPTERS = {
  "introduction", "probes", "handlers", "shared_objects", "stacks", "counters", "bpf_objects", "flame_graphs", "trace",
  "spans", "states", "timelines", "allocators", "heap", "system_calls", "terminal", "run", "metrics", "text",
  "tests",
}

-- A list of TEXT's parts between commas that stand in no brackets or quotes.
function entries.split(text)
  local parts, depth, quoted, from = {}, 0, false, 1
  for at = 1, #text do
    local c = text:sub(at, at)
    if c == '"' then quoted = not quoted end
    if not quoted then
      if c:find "[({<[]" then depth = depth + 1 elseif c:find "[)}>%]]" then depth = depth - 1 end
      if c == "," and depth == 0 then
        parts[#parts + 1] = text:sub(from, at - 1):match "^%s*(.-)%s*$"
        from = at + 1
      end
    end
  end
  local last = text:sub(from):match "^%s*(.-)%s*$"
  if last ~= "" then parts[#parts + 1] = last end
  return parts
end

local function argument_of(text)
  local name, optional, kind = text:match "^([%w_.]+)(%??): (.+)$"
  if name then return { name = name, optional = optional == "?", type = kind } end
end

-- What the code span TEXT declares: { path =, type = } of a field, { path =, arguments =, results = } of a function;
-- nil where it declares nothing.
function entries.parse(text)
  local path, type_of = text:match "^([%a_][%w_]*[.:][%w_.]+): (.+)$"
  if path then return { path = path, type = type_of } end
  local rest, list
  path, list, rest = text:match "^([%a_][%w_]*[.:][%w_]+)(%b())(.*)$"
  if not path or rest ~= "" and not rest:find "^: " then return nil end
  local arguments = {}
  for i, part in ipairs(entries.split(list:sub(2, -2))) do
    arguments[i] = argument_of(part)
    if not arguments[i] then return nil end
  end
  return { path = path, arguments = arguments, results = entries.split(rest:sub(3)) }
end

-- How the page shows a declaration: `up.uprobe(spec, [options], handler)`.
function entries.shown(declared)
  if declared.type then return declared.path end
  local words, n = "", #declared.arguments
  local last_required = 0
  for i, argument in ipairs(declared.arguments) do
    if not argument.optional then last_required = i end
  end
  for i, argument in ipairs(declared.arguments) do
    local name = argument.name == "..." and "…" or argument.name
    if not argument.optional then
      words = words .. (i > 1 and ", " or "") .. name
    elseif i < last_required then
      words = words .. (i > 1 and ", " or "") .. "[" .. name .. "]"
    else
      words = words .. (i > 1 and " [, " or "[") .. name .. "]"
    end
  end
  return ("%s(%s)"):format(declared.path, n > 0 and words or "")
end

-- A cell's text on one line.
function entries.line(text) return (text:gsub("%s*\n%s*", " ")) end

-- The public name of a declaration: "uprobe", "Probe:detach", "Probe.hits", "flame.write", "e.pid", "e:ustack"; and of
-- which class or module it is.
local function name_of(declared, chapter, class)
  local receiver, separator, rest = declared.path:match "^([%w_]+)([.:])(.*)$"
  if receiver == "up" then return rest end
  class = class or (chapter.classes or {})[receiver]
  if class then return class .. separator .. rest, class end
  if receiver == "e" then return declared.path, "Event" end
  local module = (chapter.modules or {})[receiver]
  if module then return declared.path, nil, module end
end

local function add(list, declared, row, block, chapter)
  declared.name, declared.class, declared.module = name_of(declared, chapter, block.class)
  if not declared.name then
    error(("api, \"%s\": %s is of no class and no module"):format(chapter.title, declared.path), 0)
  end
  declared.chapter = chapter
  declared.text = row.text or row[2] and entries.line(row[2]) or ""
  declared.raises = row.raises
  declared.gives_nil = ((declared.results or {})[1] or ""):find "%?$" and row.gives_nil or nil
  declared.since, declared.kinds = row.since or "1.0", row.kinds
  list[#list + 1] = declared
end

-- The chapters in their order.
function entries.chapters()
  local list = {}
  for i, name in ipairs(entries.CHAPTERS) do list[i] = require("uplua.api." .. name) end
  return list
end

-- The code spans of ROW that declare, in their order: what "`a` … `z`" leaves out stands between the two.
local function spans(row)
  local list, cell = {}, row.shown and "" or entries.line(row[1])
  local last = cell:match "^`[^`]+` … (`[^`]+`)$"
  if last then cell = cell:sub(1, #cell - #last) end
  for span in (cell .. entries.line(row.defines or "") .. (last or "")):gmatch "`([^`]+)`" do list[#list + 1] = span end
  return list
end

-- All that CHAPTERS declare, in the page's order: { name, path, text, chapter, arguments and results or type, … }.
function entries.all(chapters)
  local list = {}
  for _, chapter in ipairs(chapters or entries.chapters()) do
    for _, block in ipairs(chapter) do
      for _, row in ipairs(type(block) == "table" and block or {}) do
        for _, span in ipairs(spans(row)) do
          local declared = entries.parse(span)
          if declared then add(list, declared, row, block, chapter) end
        end
      end
    end
  end
  return list
end

-- The types that the chapters declare: a list of { name, definition, text, parent = }, and the same by name.
function entries.types()
  local list, by_name = {}, {}
  for _, chapter in ipairs(entries.chapters()) do
    for _, one in ipairs(chapter.types or {}) do list[#list + 1], by_name[one[1]] = one, one end
  end
  return list, by_name
end

-- A declaration with its types: "up.clock(time: ns): string".
function entries.typed(declared)
  if declared.type then return ("%s: %s"):format(declared.path, declared.type) end
  local words = {}
  for i, argument in ipairs(declared.arguments) do
    words[i] = ("%s%s: %s"):format(argument.name, argument.optional and "?" or "", argument.type)
  end
  local results = table.concat(declared.results, ", ")
  return ("%s(%s)%s"):format(declared.path, table.concat(words, ", "), results ~= "" and ": " .. results or "")
end

return entries
