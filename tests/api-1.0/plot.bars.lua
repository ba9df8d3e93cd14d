-- plot.bars in 1.0
print((require "uplua.plot".bars { { "read", 101 }, { "write", 23 } }):gsub("[^%a%d\n]+", " "))
-->  read 101 
-->  write 23 	6
