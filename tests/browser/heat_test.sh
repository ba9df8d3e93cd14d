#!/bin/sh
# A heat map in a browser: its cells, and their numbers under the pointer. Needs Chromium (`make test-browser` installs it).
set -u
cd "$(dirname "$0")/../.." || exit 1
. tests/cli/tap.sh

# 101 values of 1000 and 23 of 100,000, in one column; a title that is none.
cat >"$D/heat.lua" <<'LUA'
local up, heat = require "uplua", require "uplua.heat"
local h = heat.new { unit = "ns", title = "a < b & \27c", every = "1h" }
up.uprobe("./build/examples/shop:sell", function(e) h:add(1000) end)
up.uprobe("./build/examples/shop:sell", function(e)
  if up.i32(e.arg1) == 22 then h:add(100000) end
end)
up.at_exit(function() h:write(arg[1] .. "/heat.svg") end)
LUA
./uplua "$D/heat.lua" "$D" -- ./build/examples/shop >/dev/null || exit 1

# What SCRIPT leaves in `say`.
browse()
{
    sed 's|</svg>||' "$D/heat.svg" >"$D/page.svg"
    cat >>"$D/page.svg" <<END
<text id="out" y="-100"/><script><![CDATA[
const said=[];
function say(...x){said.push(...x);}
const cells=()=>[...document.querySelectorAll("rect")].filter(r=>r.querySelector("title"));
function under(r){
  const box=r.getBoundingClientRect();
  const e=document.elementFromPoint(box.x+box.width/2,box.y+box.height/2);
  return e.querySelector("title")?e.querySelector("title").textContent.replace(/^[0-9:]+, /,""):"nothing";
}
{ $1 }
document.getElementById("out").textContent="RESULT "+said.join(" ")+" END";
]]></script></svg>
END
    chromium --headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking \
        --disable-component-update --disable-sync --user-data-dir="$D/chromium" --window-size=1240,900 --dump-dom \
        "file://$D/page.svg" 2>/dev/null | tr '\n' ' ' | sed -n 's/.*<text id="out"[^>]*>RESULT \(.*\) END<\/text>.*/\1/p' |
        sed 's/&lt;/</g; s/&gt;/>/g; s/&amp;/\&/g'
}

is "$(browse 'say(cells().length,new Set(cells().map(r=>r.getAttribute("fill"))).size)')" "2 2" "two cells, of two shades"
like "$(browse 'say(under(cells()[0]))')" "*: 101, 9?.? % of 1??" "the numbers of the darker one are under the pointer"
is "$(browse 'say(document.querySelector("text").textContent)')" 'a < b & \x1bc' "the title"
done_testing
