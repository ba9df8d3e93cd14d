-- doc/troubleshooting.md has the messages that uplua prints: those that can be provoked are provoked, as the page says
-- (tests/lua/typed.lua): a sample, with UPLUA_LONG all. The others are in the sources.
-- Runs once: what is typed is typed on the kernel as it is.
local tap = require "tap"
local target = require "target"

local PAGE = "doc/troubleshooting.md"
require "typed".test(PAGE)

-- The strings of the sources, joined where they stand side by side: as text, and those of several words as patterns in
-- which a conversion stands for anything.
local pipe = io.popen "cat $(find src lua scripts -name '*.c' -o -name '*.h' -o -name '*.lua' | sort)"
local source = pipe:read "*a":gsub('\\"', "'"):gsub('"%s*%.?%.?%s*\n%s*%.?%.?%s*"', "")
pipe:close()
local formats = {}
for text in source:gmatch '"([^"\n]*)"' do
  text = text:gsub("^uplua: ", ""):gsub("\\n$", "") -- what stands before each message, and behind it
  local literal = text:gsub("%%[-+#%d.*]*l*z?[%a]", "")
  if #literal >= 12 and text:find "%l %l" then
    local pattern = text:gsub("\\n", "\n"):gsub("%%[-+#%d.*]*l*z?%a", "\1"):gsub("%p", "%%%0"):gsub("\1", ".-")
    formats[#formats + 1] = { pattern = pattern, length = #literal }
  end
end

-- Whether a format of the sources makes most of MESSAGE.
local function printed(message)
  for _, format in ipairs(formats) do
    if format.length * 2 >= #message and message:find(format.pattern) then return true end
  end
  return false
end

local shown, count = {}, 0
for line in io.lines(PAGE) do shown[#shown + 1] = line:find "^%*%*" and "" or line end
shown = table.concat(shown, "\n")
for line in io.lines(PAGE) do
  local message = line:match "^    uplua: (.*)"
  if message then
    count = count + 1
    tap.ok(printed(message), "a source prints: " .. message)
  end
  for words in (line:match "^%*%*(.-)%*%*" or ""):gmatch "`(.-)`" do
    for part in words:gsub("…", "\n"):gmatch "[^\n]+" do
      part = part:match "^%s*(.-)%s*$"
      count = count + 1
      tap.ok(source:find(part, 1, true) or shown:find(part, 1, true), "a source says: " .. part)
    end
  end
end
tap.ok(count >= 30, "messages that the page explains: " .. count)
tap.ok(not printed "process 4242 has no permission to be traced here", "a message that nobody prints is found out")
target.done()
tap.done_testing()
