/**
 * The stylesheet of everything that people see in a browser. Hosts of MCP Apps set the variables
 * that start with `--color-`, `--font-` and `--border-`; without them the defaults apply.
 */
export const STYLE = `
:root { color-scheme: light dark;
  --paper: var(--color-background-primary, light-dark(#fff, #17181a));
  --shade: var(--color-background-secondary, light-dark(#f3f4f6, #222427));
  --ink: var(--color-text-primary, light-dark(#16181d, #eceef1));
  --quiet: var(--color-text-secondary, light-dark(#565d69, #a9b0bb));
  --line: var(--color-border-primary, light-dark(#868e9a, #767e8a));
  --accent: light-dark(#1c5fd4, #8db8ff); --on-accent: light-dark(#fff, #0c1420);
  --wrong: light-dark(#b3261e, #ffb4ab); --wrong-shade: light-dark(#fdeceb, #3b1d1b);
  --round: var(--border-radius-md, .5rem); }
[data-theme=light] { color-scheme: light } [data-theme=dark] { color-scheme: dark }
* { box-sizing: border-box }
body { margin: 0; background: var(--paper); color: var(--ink);
  font: 1rem/1.5 var(--font-sans, system-ui, sans-serif); overflow-wrap: anywhere }
main { max-width: 38rem; margin: 0 auto; padding: 2rem }
.page { background: light-dark(#eef0f3, #0c0d0e); padding: 1.5rem 0 } .page main { background: var(--paper); border-radius: 1rem; box-shadow: 0 1px 3px #0003 }
h1 { font-size: 1.35rem; line-height: 1.25; margin: 0 0 .5rem }
p { margin: 0 0 1rem }
.who, .help, .optional, .note { color: var(--quiet); font-size: .9rem }
.who { margin-bottom: 1.25rem } .optional { font-weight: 400 }
.message { white-space: pre-wrap; font-size: 1.08rem; margin-bottom: 1.5rem }
.field { border: 0; padding: 0; margin: 0 0 1.35rem; min-width: 0 }
.field:not(.switch) > label:not(.option), legend { display: block; font-weight: 600; margin: 0 0 .25rem; padding: 0 }
.help, .problem { margin: 0 0 .4rem }
.problem { color: var(--wrong); font-weight: 600; font-size: .95rem }
.invalid { border-left: .25rem solid var(--wrong); padding-left: .8rem }
.problems { background: var(--wrong-shade); border-radius: var(--round); padding: .8rem 1rem; margin: 0 0 1.5rem }
.problems p { margin: 0; font-weight: 600 } .problems ul { margin: .25rem 0 0; padding-left: 1.2rem }
.problems a, .warning a { color: inherit } .warning { border-left: .25rem solid light-dark(#9a5b00, #ffc46b); padding-left: .8rem }
h2 { font-size: 1.1rem; margin: 2rem 0 .5rem } a { color: var(--accent) }
input, select, textarea, button { font: inherit; color: inherit }
input:not([type=radio], [type=checkbox]), select, textarea { width: 100%; min-height: 2.75rem;
  padding: .5rem .7rem; background: var(--paper); border: 1px solid var(--line); border-radius: var(--round) }
[aria-invalid=true]:not(fieldset) { border-color: var(--wrong) }
input[type=radio], input[type=checkbox] { width: 1.15rem; height: 1.15rem; margin: .2rem 0 0; flex: none; accent-color: var(--accent) }
.option, .switch > label { display: flex; gap: .65rem; padding: .55rem .7rem; border-radius: var(--round);
  background: var(--shade); cursor: pointer }
.option { margin-bottom: .3rem } .option:hover, .switch > label:hover { background: color-mix(in srgb, var(--ink) 9%, var(--paper)) }
.option:has(:checked) { box-shadow: inset 0 0 0 1.5px var(--accent) }
/* A legend that does not float leaves a gap in the border of an invalid group. */
legend { float: left; width: 100% } legend + * { clear: both }
.moment { display: flex; flex-wrap: wrap; gap: .5rem } .moment input { flex: 1 1 12rem; min-width: 0; width: auto !important } .moment input + input { flex: 0 1 6.5rem }
.actions { display: flex; flex-wrap: wrap; gap: .75rem; margin-top: 1.75rem } .actions + .note { margin: 1rem 0 0 }
button { min-height: 2.75rem; padding: .5rem 1.4rem; border-radius: var(--round); cursor: pointer;
  border: 1px solid var(--line); background: transparent; font-weight: 600 }
.button { display: inline-block; padding: .6rem 1.4rem; border-radius: var(--round); font-weight: 600; text-decoration: none }
button.main, .button { background: var(--accent); border-color: var(--accent); color: var(--on-accent) }
button[disabled] { opacity: .55; cursor: default }
:focus-visible { outline: 3px solid var(--accent); outline-offset: 2px }
.problems:focus { outline: 0 }
.view h1 { font-size: 1.08rem; margin-bottom: .75rem } .view main { max-width: 32rem; padding: 0 } .view main:not(:empty) { padding: 1rem }
main > :last-child { margin-bottom: 0 } #closed:empty { display: none }
@media (max-width: 38rem) { .page { background: var(--paper); padding: 0 } .page main { box-shadow: none; padding: 1.25rem 1rem 2rem } .actions button { flex: 1 } }
`;
