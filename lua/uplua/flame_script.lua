-- What the browser runs in a flame graph (flame.lua), as text.
return [==[
/* rows: name, module, value, callees; a caller stands before its callees. */
const nodes=[];
let at=0;
function build(caller,depth,start){
  const n={name:names[rows[at]],module:modules[rows[at+1]],color:colors[rows[at+1]],value:rows[at+2],caller:caller,depth:depth,start:start,
           callees:[],number:nodes.length};
  const count=rows[at+3];
  at+=4;
  nodes.push(n);
  for(let i=0,s=start;i<count;i++){
    const c=build(n,depth+1,s);
    n.callees.push(c);
    s+=c.value;
  }
  return n;
}
const root=build(null,0,0),SVG="http://www.w3.org/2000/svg";
const frames=document.getElementById("frames"),details=document.getElementById("details"),matched=document.getElementById("matched");
const reset=document.getElementById("reset"),search=document.getElementById("search");
let zoomed=root,pattern="",typing=false;

function shorten(s,width){
  const room=Math.floor((width-4)/CHARACTER);
  if(room<3)return "";
  const letters=Array.from(s);
  return letters.length<=room?s:letters.slice(0,room-1).join("")+"…";
}
function describe(n){
  return n.name+(n.module&&n.module!==n.name?" ("+n.module+")":"")+": "+n.value.toLocaleString("en")+" "+unit+", "+
         (root.value?100*n.value/root.value:0).toFixed(2)+"%";
}
function matches(n){return pattern!==""&&n.name.toLowerCase().includes(pattern.toLowerCase());}
function element(name,attributes,parent,text){
  const e=document.createElementNS(SVG,name);
  for(const a in attributes)e.setAttribute(a,attributes[a]);
  if(text!==undefined)e.textContent=text;
  parent.appendChild(e);
  return e;
}
function box(n,x,width,parent,faded){
  const y=H-BOTTOM-(n.depth+1)*ROW,g=element("g",{"data-n":n.number},parent);
  if(faded)g.setAttribute("opacity",.55);
  element("title",{},g,describe(n));
  element("rect",{x:x.toFixed(2),y:y,width:width.toFixed(2),height:ROW-1,fill:matches(n)?"#e600e6":n.color},g);
  element("text",{x:(x+3).toFixed(2),y:y+12},g,shorten(n.name,width));
}
function draw(){
  const all=document.createDocumentFragment(),scale=zoomed.value?(W-2*MARGIN)/zoomed.value:0;
  for(let n=zoomed.caller;n;n=n.caller)box(n,MARGIN,W-2*MARGIN,all,true);
  const left=[zoomed];
  while(left.length){
    const n=left.pop(),width=n.value*scale;
    if(width<SMALLEST)continue;
    box(n,MARGIN+(n.start-zoomed.start)*scale,width,all,false);
    for(const c of n.callees)left.push(c);
  }
  frames.replaceChildren(all);
  reset.setAttribute("visibility",zoomed===root?"hidden":"visible");
}
/* What is found is counted once where one match lies above another. */
function found(){
  let sum=0;
  const left=[root];
  while(left.length){
    const n=left.pop();
    if(matches(n))sum+=n.value;
    else for(const c of n.callees)left.push(c);
  }
  return sum;
}
function show(){
  search.textContent=typing||pattern!==""?"search: "+pattern+(typing?"▏":""):"search";
  matched.textContent=pattern===""?"":"matched: "+found().toLocaleString("en")+" "+unit+", "+(root.value?100*found()/root.value:0).toFixed(2)+"%";
  draw();
}
function node_of(target){
  const g=target.closest?target.closest("g[data-n]"):null;
  return g?nodes[+g.getAttribute("data-n")]:null;
}
frames.addEventListener("click",e=>{const n=node_of(e.target);if(n){zoomed=n;draw();}});
frames.addEventListener("mouseover",e=>{const n=node_of(e.target);details.textContent=n?describe(n):"";});
frames.addEventListener("mouseout",()=>{details.textContent="";});
reset.addEventListener("click",()=>{zoomed=root;draw();});
search.addEventListener("click",()=>{typing=true;show();});
/* While a text is typed, all that is one letter belongs to it. */
document.addEventListener("keydown",e=>{
  if(typing){
    if(e.key==="Enter")typing=false;
    else if(e.key==="Escape"){typing=false;pattern="";}
    else if(e.key==="Backspace")pattern=pattern.slice(0,-1);
    else if(e.key.length===1&&!e.ctrlKey&&!e.metaKey&&!e.altKey)pattern+=e.key;
    else return;
  }else if(e.key==="/"||(e.key==="f"&&(e.ctrlKey||e.metaKey)))typing=true;
  else if(e.key==="Escape"){pattern="";zoomed=root;}
  else return;
  e.preventDefault();
  show();
});
draw();
]==]
