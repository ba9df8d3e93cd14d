-- Numbers, times and texts of any origin for people, and what people write of them: the public part of uplua.base.text.
local all = require "uplua.base.text"

local text = {}
for name in ("time bytes thousands integer plural bar escape quote width cut duration size"):gmatch "%a+" do
  text[name] = all[name]
end
return text
