-- Files that scripts write whole.
local file = {}

-- Makes TEXT the content of the file PATH. True, or nil and why not: the path, and the system's reason; what is
-- buffered fails at the close.
function file.write(path, text)
  if type(path) ~= "string" or type(text) ~= "string" then
    error(("file.write: a path and a text are expected, not a %s and a %s"):format(type(path), type(text)), 2)
  end
  local out, why = io.open(path, "w")
  if not out then return nil, why end
  local written, message = out:write(text)
  local closed, late = out:close()
  if written and closed then return true end
  return nil, path .. ": " .. (message or late):gsub("^.*: ", "")
end

return file
