-- Texts in XML: what pictures (SVG) have of names that a target chose.
local text = require "uplua.base.text"

local ENTITIES = { ["&"] = "&amp;", ["<"] = "&lt;", [">"] = "&gt;", ['"'] = "&quot;" }

-- S as the content of an element or of an attribute in quotes.
return function(s) return (text.escape(s):gsub('[&<>"]', ENTITIES)) end
