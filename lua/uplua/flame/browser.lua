-- The script that the browser runs in a flame graph (flame.lua), as text.
return [==[
/* rows: name, module, value, callees; a caller stands before its callees. before: values before, in a comparison. */
const nodes=[];
let at=0;
function build(caller,depth){
  const n={called:rows[at],name:names[rows[at]],module:modules[rows[at+1]],color:colors[rows[at+1]],value:rows[at+2],
           caller:caller,depth:depth,size:0,start:0,callees:[],number:nodes.length};
  const count=rows[at+3];
  at+=4;
  nodes.push(n);
  for(let i=0;i<count;i++)n.callees.push(build(n,depth+1));
  return n;
}
const root=build(null,0),SVG="http://www.w3.org/2000/svg";
/* What is drawn: the numbers, or in a comparison those before. Callees stand behind their callers in nodes. */
let past=false;
function measure(){
  for(const n of nodes)n.size=past?before[n.number]:n.value;
  root.start=0;
  for(const n of nodes){
    let s=n.start;
    for(const c of n.callees){c.start=s;s+=c.size;}
  }
}
measure();
const [frames,details,matched,reset,search,side]=
  ["frames","details","matched","reset","search","side"].map(id=>document.getElementById(id));
let zoomed=root,pattern="",typing=false,hits=[];

function shorten(s,width){
  const room=Math.floor((width-4)/CHARACTER);
  if(room<3)return "";
  const letters=Array.from(s);
  return letters.length<=room?s:letters.slice(0,room-1).join("")+"…";
}
function share(value,all){return all?100*value/all:0;}
/* As flame_change.lua has it. */
function step_of(n){
  const now=n.value,was=before[n.number]*scale;
  if(now===was)return 2;
  if(2*now<=was)return 0;
  if(now>=2*was)return 4;
  if(Math.abs(now-was)<=WITHIN*was)return 2;
  return now<was?1:3;
}
function signed(text,positive){return (positive?"+":"")+text;}
function describe_change(n){
  const now=n.value,was=before[n.number],all=before[0];
  const text="; before "+was.toLocaleString("en")+", "+share(was,all).toFixed(2)+"%: ";
  if(!was)return text+"new";
  if(!now)return text+"gone";
  const points=share(now,root.value)-share(was,all);
  return text+(absolute?signed((now-was).toLocaleString("en"),now>=was):signed(points.toFixed(2)+" points",points>=0))+
         ", × "+(now/(was*scale)).toFixed(2);
}
function describe(n){
  return n.name+(n.module&&n.module!==n.name?" ("+n.module+")":"")+": "+n.value.toLocaleString("en")+" "+unit+", "+
         share(n.value,root.value).toFixed(2)+"%"+(before?describe_change(n):"");
}
function label(n){
  const mark=before?marks[step_of(n)]:"";
  return mark?mark+" "+n.name:n.name;
}
function matches(n){return pattern!==""&&hits[n.called];}
function element(name,attributes,parent,text){
  const e=document.createElementNS(SVG,name);
  for(const a in attributes)e.setAttribute(a,attributes[a]);
  if(text!==undefined)e.textContent=text;
  parent.appendChild(e);
  return e;
}
function color(n){return matches(n)?"#e600e6":before?steps[step_of(n)]:n.color;}
function box(n,x,width,parent,faded){
  const y=H-BOTTOM-(n.depth+1)*ROW,g=element("g",{"data-n":n.number},parent);
  if(faded)g.setAttribute("opacity",.55);
  element("title",{},g,describe(n));
  element("rect",{x:x.toFixed(2),y:y,width:width.toFixed(2),height:ROW-1,fill:color(n)},g);
  element("text",{x:(x+3).toFixed(2),y:y+12},g,shorten(label(n),width));
}
function draw(){
  const all=document.createDocumentFragment(),pixels=zoomed.size?(W-2*MARGIN)/zoomed.size:0;
  for(let n=zoomed.caller;n;n=n.caller)box(n,MARGIN,W-2*MARGIN,all,true);
  const left=[zoomed];
  while(left.length){
    const n=left.pop(),width=n.size*pixels;
    if(width<SMALLEST)continue;
    box(n,MARGIN+(n.start-zoomed.start)*pixels,width,all,false);
    for(const c of n.callees)left.push(c);
  }
  frames.replaceChildren(all);
  if(side)side.textContent=past?"widths before; b: after":"widths after; b: before";
  reset.setAttribute("visibility",zoomed===root?"hidden":"visible");
}
/* What a search changes of it. */
function paint(){
  for(const g of frames.children)g.querySelector("rect").setAttribute("fill",color(nodes[+g.getAttribute("data-n")]));
}
/* What is found is counted once where one match lies above another. */
function found(){
  let sum=0;
  const left=[root];
  while(left.length){
    const n=left.pop();
    if(matches(n))sum+=n.size;
    else for(const c of n.callees)left.push(c);
  }
  return sum;
}
function look(){
  const wanted=pattern.toLowerCase();
  hits=pattern===""?[]:names.map(name=>name.toLowerCase().includes(wanted));
  const sum=pattern===""?0:found();
  search.textContent=typing||pattern!==""?"search: "+pattern+(typing?"▏":""):"search";
  matched.textContent=pattern===""?"":
    "matched: "+sum.toLocaleString("en")+" "+unit+", "+share(sum,root.size).toFixed(2)+"%";
  paint();
}
/* What an arrow leads to from the frame that is zoomed to: its widest callee, its caller, its neighbours. */
function neighbour(key){
  const shown=n=>n.callees.filter(c=>c.size>0);
  if(key==="ArrowUp")return shown(zoomed).reduce((a,b)=>a&&a.size>=b.size?a:b,null);
  if(key==="ArrowDown")return zoomed.caller;
  const beside=zoomed.caller?shown(zoomed.caller):[];
  return beside[beside.indexOf(zoomed)+(key==="ArrowLeft"?-1:1)];
}
function zoom(n){
  zoomed=n;
  details.textContent=n===root?"":describe(n);
  draw();
}
/* The widths of the other side; what is not there is left for what called it. */
function turn(){
  past=!past;
  measure();
  while(!zoomed.size&&zoomed.caller)zoomed=zoomed.caller;
  zoom(zoomed);
  look();
}
function node_of(target){
  const g=target.closest?target.closest("g[data-n]"):null;
  return g?nodes[+g.getAttribute("data-n")]:null;
}
frames.addEventListener("click",e=>{const n=node_of(e.target);if(n)zoom(n);});
frames.addEventListener("mouseover",e=>{const n=node_of(e.target);if(n)details.textContent=describe(n);});
frames.addEventListener("mouseout",()=>{details.textContent=zoomed===root?"":describe(zoomed);});
reset.addEventListener("click",()=>zoom(root));
search.addEventListener("click",()=>{typing=true;look();});
if(side)side.addEventListener("click",turn);
/* While a text is typed, all that is one letter belongs to it. */
document.addEventListener("keydown",e=>{
  const with_control=e.ctrlKey||e.metaKey||e.altKey;
  if(typing&&e.key==="Enter")typing=false;
  else if(typing&&e.key==="Escape"){typing=false;pattern="";}
  else if(typing&&e.key==="Backspace")pattern=pattern.slice(0,-1);
  else if(typing&&e.key.length===1&&!with_control)pattern+=e.key;
  else if(typing)return;
  else if(e.key==="/"||(e.key==="f"&&(e.ctrlKey||e.metaKey)))typing=true;
  else if(with_control)return;
  else if(e.key==="Escape"){pattern="";zoom(root);}
  else if(e.key.startsWith("Arrow")){
    const n=neighbour(e.key);
    if(n)zoom(n);
  }else if(e.key==="b"&&side)turn();
  else return;
  e.preventDefault();
  look();
});
draw();
]==]
