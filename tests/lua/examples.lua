-- The examples of a manual: its ```lua blocks, each with the ```text that follows it.
local examples = {}

-- A list of { code, output (nil if there is none), line where the code begins, heading above it }.
function examples.of(path)
  local list, block, language, number, heading = {}, nil, nil, 0, ""
  for line in io.lines(path) do
    number = number + 1
    local fence = line:match "^```(%a*)"
    if block and fence then
      if language == "lua" then
        list[#list + 1] = { code = table.concat(block, "\n"), line = number - #block, heading = heading }
      elseif language == "text" then
        list[#list].output = table.concat(block, "\n")
      end
      block = nil
    elseif fence then
      block, language = {}, fence
    elseif block then
      block[#block + 1] = line
    else
      heading = line:match "^#+ (.*)" or heading
    end
  end
  return list
end

return examples
