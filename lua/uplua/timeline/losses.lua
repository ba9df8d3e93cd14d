-- What timelines have lost, for the ledger.
local lanes = require "uplua.timeline.lanes"
local run   = require "uplua.base.run"
local text  = require "uplua.base.text"

local losses = { MOST_TRACKS = 65536 }

local own = run.part(function() return {} end)

-- watch(t): has the ledger tell what T, a timeline, loses; also at the end of a script that declares no probes.
function losses.watch(t)
  require "uplua.probe.declare"
  table.insert(own(), t)
end

-- lost(): { { text, count } }.
function losses.lost()
  local list = {}
  for _, t in ipairs(own()) do
    local function add(count, what, ...) list[#list + 1] = { what:format(t.path, ...), count } end
    add(t.beyond, "timeline %s: events beyond its size of %s: not written", text.bytes(t.size))
    add(t.long, "timeline %s: events of more than 256 KB: not written")
    add(t.after + t.lost, "timeline %s: events not written: %s", t.failure or "")
    add(t.backwards, "timeline %s: spans whose end is before their begin: left out")
    add(t.crowded, "timeline %s: spans that overlap with those of %d lanes: left out", lanes.MOST)
    add(t.without_track, "timeline %s: more than %d tracks: events on a track of others", losses.MOST_TRACKS)
  end
  return list
end

return losses
