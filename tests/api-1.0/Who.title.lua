-- who.title in 1.0
print(require "uplua.by".new "cpu".title)
--> CPU
