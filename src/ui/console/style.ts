/** The stylesheet of the console: that of all pages, with the layout of the console. */
import { STYLE } from "../style.ts";

const LAYOUT = `
:root { --page: light-dark(#f7f8fa, #101113); --paper: light-dark(#fff, #17181b);
  --shade: light-dark(#f1f3f6, #212328); --soft: light-dark(#e3e6eb, #2b2e34);
  --ink: light-dark(#1a1d23, #e8eaee); --quiet: light-dark(#59606c, #a3abb8); --line: light-dark(#c6ccd5, #454a54);
  --accent: light-dark(#4650c9, #a5b0ff); --on-accent: light-dark(#fff, #10132b); --glow: light-dark(#eceefd, #23264a);
  --good: light-dark(#0c6b3f, #7ddfab); --good-shade: light-dark(#e2f4ea, #12301f);
  --wait: light-dark(#875200, #f6c66b); --wait-shade: light-dark(#fdf1dc, #352709);
  --mono: ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; --round: .45rem }
html, body { height: 100% } body { background: var(--page); font-size: .9375rem } #app { height: 100% }
h1 { font-size: 1.2rem; margin: 0; letter-spacing: -.01em } h2 { font-size: .95rem; margin: 0 0 .75rem } h3 { font-size: .9rem; margin: 0 0 .35rem }
main { max-width: none; margin: 0; padding: 1.5rem 2rem 3rem; min-width: 0; overflow: auto; height: 100% } main:focus { outline: 0 }
input:not([type=radio], [type=checkbox]), select, textarea, button { min-height: 2.15rem; padding: .3rem .65rem; font-size: .9rem }
textarea { font-family: inherit; resize: vertical; padding: .5rem .65rem } button { padding: .3rem .9rem; background: var(--paper); border-color: var(--line); font-weight: 550 }
button:hover:not([disabled]) { background: var(--shade) } button.main:hover:not([disabled]) { background: var(--accent); filter: brightness(1.08) }
button.plain { border-color: transparent; background: transparent; color: var(--accent) } button.danger { color: var(--wrong) }
.field { margin-bottom: .9rem } .field:not(.switch) > label:not(.option), legend { font-size: .85rem; font-weight: 600 }
.help, .optional, .note { font-size: .82rem; color: var(--quiet) } .option, .switch > label { padding: .35rem .6rem; background: var(--shade) } .problem { font-size: .85rem } .actions { margin-top: 1rem; gap: .5rem }
code, pre, .mono { font-family: var(--mono); font-size: .8125rem } pre { margin: 0; white-space: pre-wrap; overflow-wrap: anywhere }
.shell { display: grid; grid-template: minmax(0, 1fr) / 13.5rem minmax(0, 1fr); height: 100% }
.side { border-right: 1px solid var(--soft); background: var(--paper); padding: 1.1rem .75rem; display: flex; flex-direction: column; gap: .2rem; overflow: auto; overflow-wrap: normal }
.brand { display: flex; align-items: center; gap: .55rem; padding: 0 .6rem 1rem; font-weight: 700; font-size: 1.02rem; letter-spacing: -.01em }
.brand svg { color: var(--accent); flex: none } .brand small { font-weight: 400; color: var(--quiet); font-size: .78rem }
.side nav { display: grid; gap: .2rem } .side a { display: flex; align-items: center; gap: .6rem; padding: .42rem .6rem; border-radius: var(--round); color: var(--quiet); text-decoration: none; font-weight: 550 }
.side a:hover { background: var(--shade); color: var(--ink) } .side a[aria-current=page] { background: var(--glow); color: var(--accent) }
.side a .count { margin-left: auto } .side .foot { margin-top: auto; padding: .75rem .6rem 0; color: var(--quiet); font-size: .8rem; display: grid; gap: .5rem } .side .foot button { justify-self: start; font-size: .8rem; min-height: 1.8rem; padding: .15rem .6rem }
.count { background: var(--wait-shade); color: var(--wait); border-radius: 1rem; padding: 0 .45rem; font-size: .75rem; font-weight: 650; line-height: 1.35rem }
.head { display: flex; flex-wrap: wrap; align-items: center; gap: .4rem .8rem; margin-bottom: 1.1rem } .head .end { margin-left: auto; display: flex; gap: .5rem; flex-wrap: wrap }
.head h2 { margin: 0 } .head p { margin: 0; color: var(--quiet); flex-basis: 100% }
.card { background: var(--paper); border: 1px solid var(--soft); border-radius: .7rem; padding: 1.1rem 1.2rem; margin-bottom: 1rem; min-width: 0 } .card > :last-child { margin-bottom: 0 }
.card.asks { border-color: var(--wait); box-shadow: 0 0 0 3px var(--wait-shade) }
.badge { display: inline-flex; align-items: center; gap: .35rem; border-radius: 1rem; padding: .05rem .55rem; font-size: .76rem; font-weight: 600; background: var(--shade); color: var(--quiet); white-space: nowrap }
.badge::before { content: ""; width: .45rem; height: .45rem; border-radius: 50%; background: currentColor } .badge.bare::before { display: none }
.badge.waiting { background: var(--wait-shade); color: var(--wait) } .badge.completed { background: var(--good-shade); color: var(--good) }
.badge.failed, .badge.set-aside { background: var(--wrong-shade); color: var(--wrong) } .badge.running { background: var(--glow); color: var(--accent) }
.tabs { display: flex; gap: .25rem; border-bottom: 1px solid var(--soft); margin-bottom: 1rem; overflow-x: auto } .tabs button { border: 0; background: none; border-radius: 0; padding: .35rem .7rem; color: var(--quiet); border-bottom: 2px solid transparent; white-space: nowrap }
.tabs button[aria-selected=true] { color: var(--accent); border-bottom-color: var(--accent) } .tabs button:focus-visible { outline-offset: -3px }
.filters { display: flex; flex-wrap: wrap; gap: .6rem; margin-bottom: .9rem } .filters label { flex: 1 1 6.8rem; max-width: 12rem; display: grid; gap: .15rem; font-size: .76rem; color: var(--quiet); font-weight: 550 } .filters select, .filters input:not([type=radio], [type=checkbox]) { min-width: 0; width: 100%; color: var(--ink); font-weight: 400 }
.empty { text-align: center; color: var(--quiet); padding: 3rem 1rem } .empty h2 { color: var(--ink); font-size: 1.05rem }
.window { overflow: auto; position: relative; border: 1px solid var(--soft); border-radius: .7rem; background: var(--paper) } .window > div { position: relative }
.row { position: absolute; left: 0; right: 0; display: grid; align-items: center; gap: .75rem; padding: 0 1rem; border-bottom: 1px solid var(--soft); color: inherit; text-decoration: none; width: 100%; text-align: left }
button.row { border-width: 0 0 1px; border-radius: 0; background: none; font-weight: 400; min-height: 0; border-color: var(--soft) }
.row:hover { background: var(--shade) } .row[aria-pressed=true], .row[aria-current=true] { background: var(--glow) } .row > * { min-width: 0; overflow: hidden; text-overflow: ellipsis; white-space: nowrap } .row:focus-visible { outline-offset: -3px; z-index: 1 }
.call-row { grid-template-columns: 7.5rem minmax(0, 1fr) 9rem 6rem 6.5rem } .call-row .what { display: grid; line-height: 1.3 } .call-row b { font-weight: 600 } .call-row .what span { color: var(--quiet); font-size: .82rem; overflow: hidden; text-overflow: ellipsis } .call-row .by, .call-row .age { color: var(--quiet); font-size: .82rem }
.event-row { grid-template-columns: 2.6rem auto 7.5rem minmax(0, 1fr) auto; gap: .6rem; padding: 0 .8rem 0 .4rem; font-size: .86rem } .event-row .lsn { color: var(--quiet); font-family: var(--mono); font-size: .76rem; text-align: right } .event-row .type { font-weight: 600 } .event-row .text { color: var(--quiet) } .event-row .took { color: var(--quiet); font-size: .78rem }
.lanes { display: flex; align-self: stretch; overflow: visible } .lanes i { width: .9rem; position: relative } .lanes i::before { content: ""; position: absolute; inset: 0 auto 0 50%; border-left: 2px solid var(--soft) }
.lanes i.here::after { content: ""; position: absolute; left: calc(50% - .24rem); top: calc(50% - .3rem); width: .6rem; height: .6rem; border-radius: 50%; background: var(--dot, var(--accent)); border: 2px solid var(--paper) }
.lanes .wait { --dot: var(--wait) } .lanes .good { --dot: var(--good) } .lanes .bad { --dot: var(--wrong) }
.split { display: grid; grid-template-columns: minmax(0, 3fr) minmax(18rem, 2fr); gap: 1rem; align-items: start } .split > * { min-width: 0 }
.steps { display: flex; flex-wrap: wrap; gap: .75rem; align-items: center; padding: .7rem 1rem } .steps input[type=range] { flex: 1 1 8rem; min-height: 0; padding: 0; border: 0; accent-color: var(--accent); background: none } .recorded { margin: 0; padding-left: 2.6rem } .recorded li::marker { color: var(--quiet); font-size: .78rem }
.facts { display: grid; grid-template-columns: repeat(auto-fill, minmax(11rem, 1fr)); gap: .9rem 1.2rem; margin: 0 } .facts dt { font-size: .76rem; color: var(--quiet); font-weight: 550 } .facts dd { margin: .1rem 0 0; overflow-wrap: anywhere }
.times { display: flex; height: .5rem; border-radius: 1rem; overflow: hidden; background: var(--soft); margin: .9rem 0 .45rem } .times i { background: var(--accent); min-width: 2px } .times i + i { background: light-dark(#e3a23c, #f6c66b) }
.legend { display: flex; gap: 1.2rem; font-size: .8rem; color: var(--quiet) } .legend span::before { content: ""; display: inline-block; width: .55rem; height: .55rem; border-radius: .15rem; background: var(--accent); margin-right: .4rem } .legend span + span::before { background: light-dark(#e3a23c, #f6c66b) }
.catalog { display: grid; grid-template-columns: minmax(12rem, 17rem) minmax(0, 1fr); gap: 1.25rem; align-items: start }
.catalog nav { display: grid; gap: .1rem; min-width: 0 } .catalog nav h2 { margin: .9rem .6rem .25rem; font-size: .76rem; color: var(--quiet); font-weight: 600 } .catalog nav h2:first-child { margin-top: 0 }
.catalog nav a { display: block; padding: .4rem .6rem; border-radius: var(--round); text-decoration: none; color: var(--ink); font-weight: 550; min-width: 0 } .catalog nav a small { display: block; font-weight: 400; color: var(--quiet); white-space: nowrap; overflow: hidden; text-overflow: ellipsis; font-size: .8rem }
.catalog nav a:hover { background: var(--shade) } .catalog nav a[aria-current=page] { background: var(--glow); color: var(--accent) }
.ticks { display: flex; flex-wrap: wrap; gap: .4rem 1rem; border: 0; padding: 0; margin: 0 0 1rem; align-items: center } .ticks legend { float: left; margin: 0 1rem 0 0 } .ticks label { display: inline-flex; gap: .4rem; font-size: .86rem; align-items: center } .ticks input[type=checkbox], .ticks input[type=radio] { margin: 0; width: 1rem; height: 1rem }
.chat { display: grid; gap: .6rem } .said { padding: .6rem .8rem; border-radius: .7rem; background: var(--shade); max-width: 46rem; min-width: 0 } .said.assistant { background: var(--glow) } .said > b { display: block; font-size: .76rem; color: var(--quiet); margin-bottom: .15rem } .said pre { font-family: inherit; font-size: inherit } .said pre.mono { font-family: var(--mono); font-size: .8125rem }
.wire { display: grid; gap: .4rem; min-width: 0 } .wire details { border: 1px solid var(--soft); border-radius: var(--round); background: var(--paper); min-width: 0 } .wire summary { padding: .3rem .65rem; cursor: pointer; font-family: var(--mono); font-size: .79rem; display: flex; gap: .6rem; min-width: 0 } .wire summary span:first-child { color: var(--accent) } .wire .server summary span:first-child { color: var(--good) } .wire summary span:last-child { overflow: hidden; text-overflow: ellipsis; white-space: nowrap } .wire pre { padding: .2rem .65rem .6rem }
.view-frame { width: 100%; border: 1px solid var(--soft); border-radius: .7rem; background: var(--paper); height: 0; display: block } .view-frame[height] { height: auto }
.said img, .card img { max-width: 100%; border-radius: var(--round) }
.progress { display: grid; gap: .3rem; font-size: .86rem; color: var(--quiet); margin-bottom: 1rem } progress { width: 100%; accent-color: var(--accent) }
.toasts { position: absolute } .toast { position: fixed; right: 1rem; bottom: 1rem; background: var(--ink); color: var(--paper); padding: .55rem .9rem; border-radius: var(--round); font-size: .88rem; z-index: 5; max-width: 22rem }
.sr { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); white-space: nowrap }
.gate { max-width: 30rem; margin: 16vh auto 0; padding: 1.5rem; height: auto } .gate .card { padding: 1.75rem }
@media (max-width: 60rem) { .split { grid-template-columns: minmax(0, 1fr) } .catalog { grid-template-columns: minmax(0, 1fr) } .call-row { grid-template-columns: 7.5rem minmax(0, 1fr) 5rem } .call-row .by { display: none } }
@media (max-width: 46rem) { .facts { grid-template-columns: 1fr 1fr } .shell { grid-template: auto minmax(0, 1fr) / minmax(0, 1fr) } .side { flex-direction: row; align-items: center; border-right: 0; border-bottom: 1px solid var(--soft); padding: .5rem .75rem; overflow-x: auto; overflow-y: hidden } .side nav { display: flex } .brand { padding: 0 .4rem 0 0 } .brand > span, .side .foot .about { display: none } .brand svg { margin-left: .3rem } .side .foot { margin: 0 0 0 auto; padding: 0 } main { padding: 1rem .9rem 2.5rem }
  .event-row { grid-template-columns: 2.4rem auto minmax(0, 1fr) } .event-row .took, .event-row .text { display: none } .row { padding: 0 .7rem; gap: .5rem } .call-row { grid-template-columns: minmax(0, 1fr) auto } .call-row .state { order: 2 } .call-row .age { display: none } .card { padding: .9rem } .actions button { flex: none } .filters label { flex: 1 1 8rem; max-width: none } .filters select, .filters input:not([type=radio], [type=checkbox]) { width: 100% } }
`;

export const CONSOLE_STYLE: string = STYLE + LAYOUT;
