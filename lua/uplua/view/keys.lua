-- What is typed on a terminal, as names of keys: "up", "down", "left", "right", "home", "end", "page up", "page down",
-- "enter", "escape", "backspace", and the characters, each a text of one UTF-8 sequence.
local keys = {}

local SEQUENCES = {
  A = "up", B = "down", C = "right", D = "left", H = "home", F = "end", ["1~"] = "home", ["4~"] = "end",
  ["5~"] = "page up", ["6~"] = "page down",
}
local CONTROLS = {
  ["\r"] = "enter", ["\n"] = "enter", ["\8"] = "backspace", ["\127"] = "backspace", ["\27"] = "escape",
}

-- The keys that BYTES are, in their order. A sequence that is not known here is no key.
function keys.of(bytes)
  local list, at = {}, 1
  while at <= #bytes do
    local introduced, final = bytes:match("^\27([%[O][%d;]*)([%a~])", at)
    if introduced then
      local code = final == "~" and introduced:match "%d+" .. "~" or final
      list[#list + 1] = SEQUENCES[code]
      at = at + 1 + #introduced + 1
    else
      local character = bytes:match("^[%z\1-\127\194-\244][\128-\191]*", at) or bytes:sub(at, at)
      local control = character:find "^[%z\1-\31\127]" ~= nil
      if CONTROLS[character] or not control then list[#list + 1] = CONTROLS[character] or character end
      at = at + #character
    end
  end
  return list
end

return keys
