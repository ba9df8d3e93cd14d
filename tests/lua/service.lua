-- uplua --serve, for tests: a script that is asked for its metrics.
local tap    = require "tap"
local target = require "target"

local service = {}

-- Whoever runs it is traced: the run goes on when it has ended.
service.CALLS = target.copy "./build/targets/calls"

-- Skips all of the test where nothing can be served.
function service.need()
  if not pcall(require("ffi").load, "libmicrohttpd.so.12") then tap.skip_rest "no libmicrohttpd here" end
end

-- For scripts of bash: `serving PID` waits until the run of that number serves and sets $port; `raw FORMAT …` sends a
-- request as printf makes it, and `ask PATH [HEADER]` is one for a page; both print what comes back.
service.SHELL = [[
  serving() {
    await 'grep -q "serving metrics at" "$D/err"' $1
    port=$(sed -n 's/.*serving metrics at .*:\([0-9]*\)$/\1/p' "$D/err")
  }
  raw() { exec 8<>/dev/tcp/127.0.0.1/$port; printf "$@" >&8; timeout 20 cat <&8; exec 8>&-; }
  ask() { raw "GET $1 HTTP/1.1\r\nHost: here\r\nConnection: close\r\n${2:+$2\r\n}\r\n" | tr -d '\r'; }
]]

-- served(code, steps, [targets], [options]): starts uplua --serve with OPTIONS on CODE, in which CALLS stands for a
-- program, in the folder $D, beside TARGETS programs that sleep, $first and $second, which are traced if there are any.
-- Then it runs STEPS, a script of bash with `ask PATH [HEADER]`, whose answers it prints, and `run`, which
-- has the program call add3 23 times. Returns what target.shell does; the end of its noise is the run's status.
function service.served(code, steps, targets, options)
  return target.shell(service.SHELL .. ([[
    for name in %s; do
      sleep 1000 &
      eval $name=$!
    done
    ./uplua --serve 0 %s -e %s ${first:+-- $first $second} >"$D/out" 2>"$D/err" &
    uplua=$!
    serving $uplua
    run() { %s 1 >/dev/null; }
    %s
    kill -TERM $uplua
    wait $uplua
    echo "status $?"
  ]]):format(({ "first", "first second" })[targets] or "", options or "",
    target.quote((code:gsub("CALLS", service.CALLS))), service.CALLS, steps))
end

return service
