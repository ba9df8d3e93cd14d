#!/bin/sh
# A flame graph in a browser: what it draws, and what clicks and keys do. Needs Chromium (`make test-browser` installs it).
set -u
cd "$(dirname "$0")/../.." || exit 1
. tests/cli/tap.sh

# A picture of known numbers: 101 for main, of these 23 for parse and 71 for render, which parse calls too. One of 50,000 stacks. One of
# names that are no names. And what differs between two runs, of which the first was 202: parse stayed, render grew, old is gone.
cat >"$D/flame.lua" <<'LUA'
local flame, folded = require "uplua.flame", require "uplua.folded"
local function picture(name, source, options) flame.write(arg[1] .. "/" .. name .. ".svg", source, options or { title = "a < b & c", unit = "orders" }) end
picture("small", {
  [{ "main", "parse" }] = 16, [{ "main", "parse", "render" }] = 7, [{ "main", "render" }] = 64, [{ "main", "serve" }] = 14,
})
local many = {}
for i = 1, 50000 do
  local key = {}
  for depth = 1, 20 do key[depth] = "f" .. math.floor(i / 50000 * 3 ^ math.min(depth, 11)) .. "_" .. depth end
  many[key] = 20
end
picture("many", many, { title = "50,000 stacks" })
local names = {}
for i, name in ipairs {
  "<b>&amp;\"'</b>", "]]></script><script>alert(1)</script>", "\0\1\8\27[2J\127\194\155", "\255\237\160\128\239\191\190\244\144\128\128\226\130", "\\x41\\u0041\\",
  "\226\128\168${1}`%s", "東京 naïve 😀",
} do names[{ name }] = i end
picture("names", names, { title = "<&\"'\27\255]]>", unit = "<i>&\27\255" })
folded.write(arg[1] .. "/before.folded", { ["main;parse"] = 46, ["main;render"] = 64, ["main;serve"] = 42, ["main;old;render"] = 50 })
picture("changes", { ["main;parse"] = 23, ["main;render"] = 64, ["main;serve"] = 7, ["main;new"] = 7 },
  { unit = "orders", before = folded.read(arg[1] .. "/before.folded") })
LUA
./uplua "$D/flame.lua" "$D" || exit 1
: >"$D/console"

# What SCRIPT, run in the picture NAME, leaves in `say`. What a click hits is what lies at its place on the screen.
browse()
{
    sed '$d' "$D/$1.svg" >"$D/page.svg"
    cat >>"$D/page.svg" <<END
<text id="out" y="-100"/><script><![CDATA[
const said=[];
function say(...x){said.push(...x);}
const all=()=>[...document.querySelectorAll("#frames g")];
const frame=name=>all().find(g=>nodes[+g.dataset.n].name===name);
const width=name=>frame(name)?Math.round(+frame(name).querySelector("rect").getAttribute("width")):0;
const fill=name=>frame(name).querySelector("rect").getAttribute("fill");
const words=name=>frame(name).querySelector("text").textContent;
const sum=()=>nodes.reduce((all,n)=>all+n.size-n.callees.reduce((own,c)=>own+c.size,0),0);
function click(e){
  const box=(e.querySelector("rect")||e).getBoundingClientRect();
  document.elementFromPoint(box.x+box.width/2,box.y+box.height/2).dispatchEvent(new MouseEvent("click",{bubbles:true}));
}
const key=(k,more)=>document.dispatchEvent(new KeyboardEvent("keydown",{key:k,bubbles:true,...more}));
const type=text=>{for(const k of text)key(k);};
const laid=()=>frames.getBBox().width; /* which has the browser place all that is drawn */
{ $2 }
document.getElementById("out").textContent="RESULT "+said.join(" ")+" END";
]]></script></svg>
END
    chromium --headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking --disable-component-update \
        --disable-sync --user-data-dir="$D/chromium" --window-size=1240,900 --enable-logging=stderr --dump-dom \
        "file://$D/page.svg" 2>"$D/err" | tr '\n' ' ' | sed -n 's/.*<text id="out"[^>]*>RESULT \(.*\) END<\/text>.*/\1/p' |
        sed 's/&lt;/</g; s/&gt;/>/g; s/&amp;/\&/g'
    grep CONSOLE "$D/err" >>"$D/console"
}

# So that silence means something.
browse small 'console.error("told")' >/dev/null
like "$(cat "$D/console")" '*CONSOLE*"told"*' "errors in the page are seen"
: >"$D/console"

is "$(browse small 'say(nodes.length,root.value,sum(),width("all"),width("main"),width("parse"),width("render"),width("serve"))')" \
    "6 101 101 1180 1180 269 748 164" "frames as wide as their numbers, which add up"
is "$(browse small 'click(frame("parse"));say(width("parse"),width("render"),frame("main").getAttribute("opacity"),width("serve"),
       reset.getAttribute("visibility"));click(reset);say(width("parse"),reset.getAttribute("visibility"));
       click(frame("parse"));click(frame("all"));say(width("parse"))')" \
    "1180 359 0.55 0 visible 269 hidden 269" "a click zooms in, on “everything” and on the lowest row out"
is "$(browse small 'const at=()=>say(zoomed.name+zoomed.depth,width(zoomed.name));
       for(const k of ["Up","Up","Right","Right","Left","Left","Up","Up","Down","Down"]){key("Arrow"+k);at();}key("Escape");at();')" \
    "main1 1180 render2 1180 serve2 1180 serve2 1180 render2 1180 parse2 1180 render3 1180 render3 1180 parse2 1180 main1 1180 all0 1180" \
    "arrows zoom to the widest callee, the neighbours and the caller, Escape to everything"
is "$(browse small 'key("ArrowUp");key("ArrowUp");say(details.textContent)')" "render: 64 orders, 63.37%" "what is zoomed to by keys is told"
is "$(browse small 'key("/");type("REND");say(matched.textContent);key("Enter");key("x");say(search.textContent,fill("render"));
       key("Escape");say(matched.textContent+search.textContent,fill("render")!=="#e600e6")')" \
    "matched: 71 orders, 70.30% search: REND #e600e6 search true" "search by keys"
is "$(browse small 'click(search);say(search.textContent);type("pars");say(matched.textContent);click(frame("parse"));say(fill("parse"),width("parse"))')" \
    "search: ▏ matched: 23 orders, 22.77% #e600e6 1180" "search by a click, and a zoom to what was found"
is "$(browse small 'key("f",{ctrlKey:true});type("maix");key("Backspace");key("n");say(matched.textContent)')" \
    "matched: 101 orders, 100.00%" "Ctrl+F; a match above a match counts once"
is "$(browse small 'frame("parse").dispatchEvent(new MouseEvent("mouseover",{bubbles:true}));say(details.textContent);
       frame("parse").dispatchEvent(new MouseEvent("mouseout",{bubbles:true}));say("["+details.textContent+"]")')" \
    "parse: 23 orders, 22.77% []" "what lies under the mouse is told"

# Names from the target, the title and the unit.
is "$(browse names 'say(document.querySelectorAll("script").length,document.querySelectorAll("b,i").length,nodes.length,root.value);
       say(...nodes.slice(1).map(n=>n.value+encodeURI(n.name)).sort((a,b)=>a.slice(1)<b.slice(1)?-1:1))')" \
    "2 0 8 28 1%3Cb%3E&amp;%22'%3C/b%3E 3%5Cx00%5Cx01%5Cx08%5Cx1b%5B2J%5Cx7f%5Cx9b 5%5Cx41%5Cu0041%5C 4%5Cxff%5Cxed%5Cxa0%5Cx80%5Cxef%5Cxbf%5Cxbe%5Cxf4%5Cx90%5Cx80%5Cx80%5Cxe2%5Cx82 2%5D%5D%3E%3C/script%3E%3Cscript%3Ealert(1)%3C/script%3E 6%E2%80%A8$%7B1%7D%60%25s 7%E6%9D%B1%E4%BA%AC%20na%C3%AFve%20%F0%9F%98%80" \
    "hostile names stay names, control characters and what is no UTF-8 are escaped"
is "$(browse names 'const shown=all().slice(1).map(g=>g.querySelector("title").textContent);
       say(shown.every((t,i)=>t.startsWith(nodes[+all()[i+1].dataset.n].name+": ")&&t.includes(" <i>&\\x1b\\xff, ")),
           [...document.querySelectorAll("svg>text")][0].textContent)')" \
    "true <&\"'\\x1b\\xff]]>" "… as do the title and the unit"

# The file has the whole picture for viewers without scripts; the script draws it anew, by its own reckoning of what is wide enough. In a copy
# the script stops at once, so that what the file itself has is left.
drawn='const row=g=>g.querySelector("title").textContent.replace(/ \(.*?\):/,":")+"|"+g.querySelector("rect").getAttribute("fill")+"|"+g.querySelector("text").textContent;
       say(all().map(row).sort().join())'
for name in small names changes many; do
    sed 's/^"use strict";$/throw "nothing of it";/' "$D/$name.svg" >"$D/still.svg"
    is "$(browse $name "$drawn" | cksum)" "$(browse still "$drawn" | cksum)" "the script draws what the file has: $name"
done
ok "… of which there is something" [ "$(browse still "$drawn" | wc -c)" -gt 10000 ]
sed -i '/"Uncaught nothing of it"/d' "$D/console"

# 50,000 stacks: what can be seen is drawn, at most so many frames as have room beside each other, and all of it answers.
is "$(browse many 'const room=()=>laid()>1000&&all().length<=21*1180/SMALLEST;
       say(root.value,sum(),nodes.length>300000,room());
       click(frame("f0_1"));say(width("f0_1"),room());
       for(let i=0;i<5;i++)key("ArrowUp");say(zoomed.depth,width(zoomed.name),room());
       key("/");type("f7_3");say(matched.textContent);key("Enter");key("Escape");say(zoomed.depth,width("all"),room());
       click(search);type("f1_1");say(matched.textContent,fill("f1_1"));key("Escape");say(matched.textContent==="",fill("f1_1")!=="#e600e6",room())')" \
    "1000000 1000000 true true 1180 true 6 1180 true matched: 37,040 samples, 3.70% 0 1180 true matched: 333,360 samples, 33.34% #e600e6 true true true" \
    "50,000 stacks: zoom and search by clicks and keys"

# What differs between two runs.
is "$(browse changes 'say(document.getElementById("summary").textContent)')" \
    "101 orders, before 202; shares are compared, by numbers before × 0.5; of those before 50 (24.75%) are in frames that are gone" "a comparison tells of what"
is "$(browse changes 'say(root.size,sum(),width("parse"),width("render"),width("serve"),width("new"),width("old"));
       for(const n of ["all","parse","render","serve","new"])say(words(n),fill(n));')" \
    "101 101 269 748 82 82 0 all #e4e0d6 parse #e4e0d6 ▲▲ render #ee7a66 ▼▼ serve #6aa2dc ▲▲ new #ee7a66" "the widths of the second, the changes' colours and marks"
is "$(browse changes 'for(const n of ["parse","render","serve","new"])say(frame(n).querySelector("title").textContent+".")')" \
    "parse: 23 orders, 22.77%; before 46, 22.77%: +0.00 points, × 1.00. render: 64 orders, 63.37%; before 64, 31.68%: +31.68 points, × 2.00. serve: 7 orders, 6.93%; before 42, 20.79%: -13.86 points, × 0.33. new: 7 orders, 6.93%; before 0, 0.00%: new." \
    "both numbers, and how they differ"
is "$(browse changes 'const old=()=>say(root.size,sum(),width("old"),width("new"),width("parse"),side.textContent);
       key("b");old();say(words("old"),frame("old").querySelector("title").textContent);click(side);old();
       key("b");click(frame("old"));say(zoomed.name);key("b");say(zoomed.name,root.size);key("/");type("b");say(matched.textContent)')" \
    "202 202 292 0 269 widths before; b: after ▼▼ old old: 0 orders, 0.00%; before 50, 24.75%: gone 101 101 0 82 269 widths after; b: before old main 101 matched: 0 orders, 0.00%" \
    "the other side, by key and click: its widths, and what is gone"
is "$(browse changes 'say([...document.querySelectorAll("#legend text")].map(t=>t.textContent).join(", "))')" \
    "▼▼ at most half, or gone, ▼ less, equal within 5 %, ▲ more, ▲▲ at least twice, or new" "the legend"
is "$(cat "$D/console")" "" "nothing was said in the console"
done_testing
