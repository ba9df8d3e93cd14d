-- Runs tests/targets/reach, a program that knows what it has lost, with mallocleak.lua attached to it.
local target = require "target"

local reach = {}

-- The programs of tests/targets that know what they have lost.
reach.PROGRAMS = { "reach", "reach_cxx" }

-- The shapes of PROGRAM.
function reach.shapes(program)
  local list, pipe = {}, io.popen("build/targets/" .. program)
  for shape in pipe:lines() do list[#list + 1] = shape end
  pipe:close()
  return list
end

-- mallocleak.lua OPTIONS on PROGRAM ("reach") with SHAPE, attached before its blocks are made, which it uses once that
-- has reported; MOVERS threads move pointers meanwhile ("MOVERS N": and a list has N). Returns the run, whose
-- uplua_status is mallocleak's.
function reach.run(shape, movers, options, program)
  local r = target.shell(([[
    set -m
    mkfifo "$D/in"
    build/targets/%s %s %s <"$D/in" >"$D/target" &
    program=$!
    exec 7>"$D/in"
    until_said ready
    ./uplua mallocleak.lua --top 0 %s -- $program >"$D/out" 2>"$D/err" 7>&- &
    uplua=$!
    until_traces
    printf x >&7
    until_said lost
    kill -INT $uplua
    wait $uplua
    echo $? >"$D/status"
    printf x >&7
    wait $program
  ]]):format(program or "reach", shape, movers, options))
  r.uplua_status = tonumber(target.read(target.folder() .. "/status"))
  return r
end

-- What the program says of itself: lost and used, as texts "4968 in 69", kept and used, numbers of blocks.
function reach.truth(r)
  local said = r.target
  return {
    lost = said:match "lost (%d+ in %d+)", kept = tonumber(said:match "kept %d+ in (%d+)"),
    used = tonumber(said:match "used (%d+)"),
  }
end

-- What the report has proven lost, as "4968 in 69" too, or "none".
function reach.proven(r)
  local bytes, blocks = (r.out:match "\n   proven lost: ([^\n]*)" or ""):gsub(",", "")
    :match "(%d+) bytes? in (%d+) block"
  return bytes and ("%s in %s"):format(bytes, blocks) or "none"
end

return reach
