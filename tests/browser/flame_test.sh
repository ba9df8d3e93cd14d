#!/bin/sh
# A flame graph in a browser: what it draws, and what clicks and keys do. Needs Chromium (`make test-browser` installs it).
set -u
cd "$(dirname "$0")/../.." || exit 1
. tests/cli/tap.sh

# A picture of known numbers: 101 for main, of these 23 for parse and 71 for render, which parse calls too.
cat >"$D/flame.lua" <<'LUA'
local flame = require "uplua.flame"
local frames = {}
local function picture(path, source) flame.write(path, source, { title = "a < b & c", unit = "orders" }) end
picture(arg[1] .. "/small.svg", {
  [{ "main", "parse" }] = 16, [{ "main", "parse", "render" }] = 7, [{ "main", "render" }] = 64, [{ "main", "x]]></script>\27\"\\" }] = 14,
})
local many = {}
for i = 1, 50000 do
  local key = {}
  for depth = 1, 20 do key[depth] = "f" .. math.floor(i / 50000 * 3 ^ math.min(depth, 11)) .. "_" .. depth end
  many[key] = 20
end
picture(arg[1] .. "/many.svg", many)
LUA
./uplua "$D/flame.lua" "$D" || exit 1

# What SCRIPT, run in the picture NAME, leaves in `say`.
browse()
{
    { echo '<!DOCTYPE html><meta charset="utf-8"><body>'
      sed 1d "$D/$1.svg"
      echo '<pre id="out"></pre><script>const out=[];function say(x){out.push(x)}
            const frame=name=>[...document.querySelectorAll("#frames g")].find(g=>nodes[+g.dataset.n].name===name);
            const width=name=>frame(name)?Math.round(+frame(name).querySelector("rect").getAttribute("width")):0;
            const click=e=>e.dispatchEvent(new MouseEvent("click",{bubbles:true}));
            const key=(k,more)=>document.dispatchEvent(new KeyboardEvent("keydown",{key:k,bubbles:true,...more}));'
      echo "$2"
      echo 'document.getElementById("out").textContent="RESULT "+out.join(" ")+" END"</script>'
    } >"$D/page.html"
    chromium --headless --no-sandbox --disable-gpu --virtual-time-budget=20000 --dump-dom "file://$D/page.html" 2>"$D/err" |
        tr '\n' ' ' | sed -n 's/.*<pre id="out">RESULT \(.*\) END<\/pre>.*/\1/p'
}

is "$(browse small 'say(nodes.length);say(root.value);say(width("all"));say(width("main"));say(width("parse"));say(width("render"))')" \
    "6 101 1180 1180 269 748" "six frames, as wide as their numbers"
is "$(browse small 'let sum=0;for(const n of nodes){let own=n.value;for(const c of n.callees)own-=c.value;sum+=own}say(sum)')" 101 \
    "the widths add up"
is "$(browse small 'click(frame("parse"));say(width("parse"));say(width("render"));say(frame("main").getAttribute("opacity"));
       say(reset.getAttribute("visibility"));click(reset);say(width("parse"));click(frame("parse"));click(frame("all"));say(width("parse"))')" \
    "1180 359 0.55 visible 269 269" "a click zooms in, on “everything” and on the lowest row out"
is "$(browse small 'key("/");for(const k of "REND")key(k);say(matched.textContent);key("Enter");key("x");say(search.textContent);
       say(frame("render").querySelector("rect").getAttribute("fill"));key("Escape");say(matched.textContent+search.textContent)')" \
    "matched: 71 orders, 70.30% search: REND #e600e6 search" "search by keys"
is "$(browse small 'key("f",{ctrlKey:true});for(const k of "maix")key(k);key("Backspace");key("n");say(matched.textContent)')" \
    "matched: 101 orders, 100.00%" "Ctrl+F; a match above a match counts once"
is "$(browse small 'say(document.querySelectorAll("script").length);say(nodes.map(n=>n.name).find(n=>n.startsWith("x]")).length)')" \
    "2 19" "a hostile name stays a name"
# The file has the whole picture for viewers without scripts; the script draws it anew, by its own reckoning of what is wide enough.
sed -n '/<g id="frames">/,/^<\/g>/s/.*<text x="[^"]*" y="[^"]*">\([^<]*\)<\/text>.*/\1/p' "$D/many.svg" >"$D/drawn"
is "$(browse many 'const drawn=[...document.querySelectorAll("#frames g text")].map(t=>t.textContent);
       say(drawn.length);say(drawn.filter(t=>t).sort().join(","))')" \
    "$(wc -l <"$D/drawn") $(grep . "$D/drawn" | LC_ALL=C sort | paste -sd, -)" "the script draws what the file has"
is "$(browse many 'const drawn=()=>document.querySelectorAll("#frames g").length<20000;
       say(root.value);say(nodes.length>300000);say(drawn());click(frame("f0_1"));say(drawn());click(reset);say(drawn())')" \
    "1000000 true true true true" "of 50,000 stacks what can be seen is drawn"
done_testing
