import { contenderClass } from './contender-class.js';

/**
 * Eight hues that stay apart for color-blind eyes (after Okabe and Ito 2008), for light and for
 * dark ground.
 */
const LIGHT = [
  '#0072b2',
  '#d55e00',
  '#009e73',
  '#cc3f8a',
  '#8a6d00',
  '#2a8fbd',
  '#7a4fbf',
  '#b03a2e',
];
const DARK = [
  '#4ea8de',
  '#f08a4b',
  '#2fc79a',
  '#ef86bf',
  '#d9b83a',
  '#7fd0f0',
  '#b598ee',
  '#f07f73',
];
const DASHES = ['', '6 3', '2 3', '8 3 2 3'];

const BASE = `
:root { color-scheme: light dark; --ground: #fff; --ink: #1c1f23; --soft: #5b636d; --line: #e3e6ea;
--panel: #f6f7f9; --good: #0a7d3c; --bad: #b3261e; --accent: #0072b2; }
@media (prefers-color-scheme: dark) { :root { --ground: #14171a; --ink: #e8eaed; --soft: #9aa3ad;
--line: #2b3036; --panel: #1c2024; --good: #4fce86; --bad: #ff8a80; --accent: #4ea8de; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--ground); color: var(--ink); font: 15px/1.5 system-ui,
-apple-system, "Segoe UI", sans-serif; font-variant-numeric: tabular-nums; }
main { max-width: 1120px; margin: 0 auto; padding: 28px 20px 80px; }
h1 { font-size: 26px; margin: 0 0 4px; } h2 { font-size: 20px; margin: 34px 0 6px; } h3 {
font-size: 16px; margin: 24px 0 6px; }
p { margin: 6px 0; max-width: 84ch; } .soft { color: var(--soft); } code { font-size: 13px;
background: var(--panel); padding: 2px 5px; border-radius: 4px; overflow-wrap: anywhere; }
nav { border-bottom: 1px solid var(--line); padding: 8px 0; margin: 14px 0; display: flex;
flex-wrap: wrap; gap: 6px; }
nav a { color: var(--ink); text-decoration: none; border: 1px solid var(--line); border-radius:
14px; padding: 2px 11px; font-size: 13px; } nav a.on { background: var(--accent); border-color:
var(--accent); color: #fff; }
.scroll { overflow-x: auto; } table { border-collapse: collapse; margin: 8px 0; font-size: 13.5px;
} th, td { padding: 4px 10px; text-align: right; white-space: nowrap; border-bottom: 1px solid
var(--line); }
th { color: var(--soft); font-weight: 600; vertical-align: bottom; white-space: normal; min-width:
74px; } td:first-child, th:first-child { text-align: left; position: sticky; left: 0; background:
var(--ground); }
td small { display: block; color: var(--soft); font-size: 11.5px; } td.better, td.better small {
color: var(--good); } td.worse, td.worse small { color: var(--bad); } tr.fixed td { font-weight:
600; } tr.noise td { color: var(--soft); }
.charts { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(460px, 100%), 1fr));
gap: 18px; } .charts.small { grid-template-columns: repeat(auto-fit, minmax(min(300px, 100%),
1fr)); }
figure { margin: 0; background: var(--panel); border-radius: 10px; padding: 12px; } figure.wide {
margin: 10px 0 18px; overflow-x: auto; } figure.wide svg { min-width: 760px; } figcaption {
font-weight: 600; font-size: 14px; margin-bottom: 4px; }
svg { width: 100%; height: auto; display: block; } svg text { fill: var(--soft); font-size: 11.5px;
} svg text.name { fill: var(--ink); font-size: 13px; } svg text.word { font-style: italic; } svg
text.change { fill: var(--ink); }
.grid { stroke: var(--line); } .mark { stroke: var(--soft); stroke-dasharray: 3 3; } .line { fill:
none; stroke: var(--c); stroke-width: 1.7; stroke-dasharray: var(--d); stroke-linejoin: round; }
.row circle { fill: var(--c); } .whisker { stroke: var(--c); stroke-width: 2.5; } .row.oracle
circle { fill: none; stroke: var(--ink); stroke-width: 1.6; }
.legend { display: flex; flex-wrap: wrap; gap: 4px 14px; margin: 8px 0; font-size: 13px; } .legend
span { cursor: default; } .legend i { display: inline-block; width: 18px; height: 0; border-top:
3px solid var(--c); margin-right: 6px; vertical-align: middle; }
.picking .line { opacity: .12; } .picking .line.picked { opacity: 1; stroke-width: 3; } .verdict {
border-left: 4px solid var(--accent); padding: 2px 0 2px 14px; margin: 10px 0; } .alarm {
border-color: var(--bad); }
.demand { --c: var(--soft); --d: 4 3; } .borrowed { --c: var(--accent); --d: none; } .harvested {
--c: var(--good); --d: none; }
.tabs section.off { display: none; }
@media print { nav { display: none; } .tabs section.off { display: block; } }
`;

/** The page's style, with one color for each contender wherever it appears. */
export function pageStyle(
  contenders: readonly { readonly name: string; readonly isNoise: boolean }[],
): string {
  const rules: string[] = [];
  const dark: string[] = [];
  let next = 0;
  for (const { name, isNoise } of contenders) {
    const selector = `.${contenderClass(name)}`;
    if (isNoise || name === 'fixed') {
      rules.push(
        `${selector}{--c:var(${isNoise ? '--soft' : '--ink'});--d:${isNoise ? '1 3' : 'none'}}`,
      );
      continue;
    }
    const dash = DASHES[Math.floor(next / LIGHT.length) % DASHES.length] || 'none';
    rules.push(`${selector}{--c:${LIGHT[next % LIGHT.length]};--d:${dash}}`);
    dark.push(`${selector}{--c:${DARK[next % DARK.length]}}`);
    next++;
  }
  return `${BASE}${rules.join('\n')}\n@media (prefers-color-scheme: dark) {${dark.join('\n')}}\n`;
}

/**
 * Tabs, and picking a contender out of every chart of its section; without it the page shows
 * everything at once.
 */
export const PAGE_SCRIPT = `
const sections = [...document.querySelectorAll('.tabs > section')];
const links = [...document.querySelectorAll('nav a')];
function show() {
  const demand = decodeURIComponent(location.hash.slice(1));
  const id = sections.some((one) => one.id === demand) ? demand : sections[0].id;
  for (const one of sections) one.classList.toggle('off', one.id !== id);
  for (const one of links) one.classList.toggle('on', one.getAttribute('href') === '#' + id);
  scrollTo(0, 0);
}
addEventListener('hashchange', show);
addEventListener('load', () => scrollTo(0, 0));
show();
for (const entry of document.querySelectorAll('.legend span')) {
  const section = entry.closest('section');
  const pick = (on) => {
    section.classList.toggle('picking', on);
    for (const line of section.getElementsByClassName(entry.dataset.contender))
line.classList.toggle('picked', on);
  };
  entry.addEventListener('pointerenter', () => pick(true));
  entry.addEventListener('pointerleave', () => pick(false));
}
`;
