-- text.quote in 1.0
local text = require "uplua.text"
print(text.quote "it's", text.quote "plain")
--> 'it'\''s'	plain
