-- who:text in 1.0
print(require "uplua.by".new "process":text { "shop", 4242 })
--> shop (pid 4242)
