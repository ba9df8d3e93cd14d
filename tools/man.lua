-- tools/man.lua PAGE   prints a man page of the manual as Markdown, which lowdown makes roff of
--
-- PAGE is one of doc/ (doc/api.md), or a script (scripts/trace.lua): its page begins with what stands at the top of the
-- script, and goes on with the script's page in doc/. Links between pages become names of man pages.

-- page → name and section
local PAGES = {
  uplua = { "uplua", "1", "traces running programs with Lua scripts" },
  prompt = { "uplua-prompt", "7", "explores running programs by typing" },
  handlers = { "uplua-handlers", "7", "the language of handlers, which run in the kernel" },
  api = { "uplua-api", "3lua", "the functions of scripts" },
}

local function name_of(page)
  local known = PAGES[page]
  if known then return ("%s(%s)"):format(known[1], known[2]) end
  local script = io.open("scripts/" .. page .. ".lua")
  if not script then return nil end
  script:close()
  return ("uplua-%s(1)"):format(page)
end

local function read(path)
  local file = assert(io.open(path))
  local text = file:read "*a"
  file:close()
  return text
end

-- TEXT without links: what they show, and the man page that they lead to.
local function without_links(text)
  return (text:gsub("%[([^%]\n]+)%]%(([^%)\n]+)%)", function(shown, to)
    local page = name_of(to:match "([%w_-]+)%.md" or "")
    if not page or to:find "^%a+:" then return shown end
    local same = shown:find "%.md$" or page:find(shown:gsub("%.lua$", ""), 1, true)
    return same and page or ("%s, %s"):format(shown, page)
  end))
end

-- The sections of TEXT, a page of doc/, one level up, without its title.
local function sections(text)
  local out, code = {}, false
  for line in (text:gsub("^# [^\n]*\n+", "", 1) .. "\n"):gmatch "(.-)\n" do
    if line:find "^```" then code = not code end
    if not code then line = line:gsub("^#(#+ )", "%1") end
    out[#out + 1] = line
  end
  return (table.concat(out, "\n"):gsub("\nOptions: `uplua [^\n]*its manual%.\n", "\n"))
end

-- The comment at the top of the script NAME: what it is for, and the rest of it, whose indented lines are code. The
-- others are plain text, of which no character means anything in Markdown.
local function top_of(name)
  local pattern = "^%-%-%[=%[\n" .. name .. ": ([^\n]*)\n\n(.-)\n%-%-%]=%]"
  local purpose, rest = read("scripts/" .. name .. ".lua"):match(pattern)
  assert(purpose, name .. ": it has no manual at its top")
  local lines = {}
  for line in (rest .. "\n"):gmatch "(.-)\n" do
    lines[#lines + 1] = line:find "^  " and "    " .. line or line:gsub("[%*_`<>%[%]]", "\\%0")
  end
  return purpose, table.concat(lines, "\n")
end

local path = arg[1]
local script = path:match "^scripts/([%w_]+)%.lua$"
local base = script or path:match "([%w_]+)%.md$"
local page = PAGES[base]
local name, body
if script then
  local purpose, top = top_of(script)
  name = ("uplua-%s - %s"):format(script, purpose)
  local manual = io.open("doc/scripts/" .. script .. ".md")
  if manual then manual:close() end
  local text = sections(read(manual and "doc/scripts/" .. script .. ".md" or "doc/" .. script .. ".md"))
  body = ("# SYNOPSIS\n\n%s\n\n# DESCRIPTION\n\n%s"):format(top:match "^(.-)\n\n(.*)$")
  body = body .. "\n\n# EXAMPLES\n\n" .. text
else
  name = ("%s - %s"):format(page[1], page[3])
  body = "# DESCRIPTION\n\n" .. sections(read(path))
end
local also = {}
for _, other in ipairs { "uplua", "prompt", "handlers", "api" } do
  if other ~= base then also[#also + 1] = name_of(other) end
end
io.write("# NAME\n\n", name, "\n\n", without_links(body), "\n\n# SEE ALSO\n\n", table.concat(also, ", "), "\n")
