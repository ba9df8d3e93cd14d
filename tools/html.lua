-- tools/html.lua PAGE   prints PAGE of the manual, README.md or one of doc/, as HTML, which lowdown makes of it: with its title,
-- and with links to the other pages' HTML
local path = arg[1]
local file = assert(io.open(path))
local title = file:read "*a":match "^#+ ([^\n]*)" or path
file:close()
local _, depth = path:gsub("/", "")
local style = path:find "/" and ("../"):rep(depth - 1) .. "style.css" or "doc/style.css"
local function quoted(text) return "'" .. text:gsub("'", "'\\''") .. "'" end
local pipe = assert(io.popen(("lowdown -s -Thtml --out-no-smarty -M css=%s -M title=%s %s"):format(quoted(style),
  quoted(title:gsub("`", "")), quoted(path))))
local page = pipe:read "*a"
assert(pipe:close(), "lowdown failed")
io.write((page:gsub('href="([^":]*)%.md([#"])', 'href="%1.html%2')))
