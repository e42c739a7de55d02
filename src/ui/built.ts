/** Browser code as text. `deno task ui` generates it; a test checks that it is up to date. */

/** The script of the asking page. Made from src/ui/page-script.ts. */
export const PAGE_SCRIPT =
  'var n=(t)=>String(Math.trunc(Math.abs(t))).padStart(2,"0");for(let t of document.querySelectorAll("input[data-zone]")){let e=-new Date().getTimezoneOffset();t.value=`${e<0?"-":"+"}${n(e/60)}:${n(e%60)}`}async function c(t){for(;;){let e=await fetch(t,{headers:{accept:"application/json"}});if(!e.ok||(await e.json()).changed===!0)return}}var{watch:o,how:r}=document.body.dataset;if(o)c(o).then(()=>{if(r==="reload")return location.replace(location.pathname+location.search);for(let a of document.querySelectorAll("button"))a.disabled=!0;let t=document.querySelector("#closed");t.append("This question is no longer open: it was answered elsewhere, or withdrawn. ");let e=document.createElement("a");e.href=location.pathname,e.append("See what is next"),t.append(e)},()=>{});';
