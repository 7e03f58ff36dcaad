"""The page's style: for desktops, phones, the dark and paper, without anything from outside.

Colours are Okabe and Ito's, which readers with any colour vision can tell apart; lines have
dash patterns and marks have forms beside them, for those who print in grey.
"""

STYLE = """
:root { color-scheme: light dark;
  --bg: #ffffff; --fg: #1b1f23; --soft: #565d64; --rule: #d5d9dd; --band: #eef1f4;
  --box: #f6f7f9; --read: #0072b2; --write: #b34f00; --m2: #007a5a; --m3: #a8437f;
  --m5: #8f6400; --good: #006b4f; --care: #7d5700; --bad: #a83200; --hill: #9cc7e4; }
@media screen and (prefers-color-scheme: dark) { :root {
  --bg: #15181b; --fg: #e9ecef; --soft: #a9b2ba; --rule: #3a4148; --band: #20262b;
  --box: #1d2226; --read: #56b4e9; --write: #f0a63c; --m2: #2fc79b; --m3: #e39ac4;
  --m5: #f0e442; --good: #4fd1a5; --care: #f0b53c; --bad: #ff8f5e; --hill: #2b5f80; } }
* { box-sizing: border-box; }
html { -webkit-text-size-adjust: 100%; }
body { margin: 0; background: var(--bg); color: var(--fg);
  font: 15px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "DejaVu Sans", sans-serif;
  overflow-wrap: anywhere; }
main { max-width: 880px; margin: 0 auto; padding: 24px 16px 40px; }
h1 { font-size: 1.7rem; line-height: 1.2; margin: 0 0 .4rem; }
h2 { font-size: 1.2rem; margin: 2.2rem 0 .6rem; padding-top: .6rem;
  border-top: 1px solid var(--rule); }
h3 { font-size: 1rem; margin: 1rem 0 .3rem; } h3 small { font-weight: 400; }
p { margin: .3rem 0 .6rem; } ul { margin: .3rem 0; padding-left: 1.2rem; } li { margin: .25rem 0; }
small, .soft, figcaption, summary { color: var(--soft); font-size: .85rem; }
.kicker { color: var(--soft); margin: 0; font-size: .85rem; }
.headline { font-size: 1.1rem; font-weight: 600; margin: 0 0 .3rem; padding-left: .7rem;
  border-left: 5px solid currentColor; }
.good { color: var(--good); } .care { color: var(--care); } .bad { color: var(--bad); }
.note { background: var(--box); border-left: 4px solid var(--care); padding: .5rem .8rem;
  margin: 1rem 0; }
.note ul { padding-left: 1rem; }
a { color: inherit; }
del { color: var(--soft); text-decoration-thickness: 2px; }
ins { text-decoration: none; font-weight: 600; }
.vh { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%);
  white-space: nowrap; }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
th, td { text-align: left; vertical-align: top; padding: .35rem .5rem .35rem 0;
  border-bottom: 1px solid var(--rule); }
thead th, .data th { font-size: .88em; font-weight: 600; }
td, th { overflow-wrap: break-word; }
.results td, .results tbody th { padding-right: .9rem; }
.results { table-layout: fixed; }
.results tbody th { overflow-wrap: anywhere; font-weight: 600; }
.results thead th:nth-child(1) { width: 18%; } .results thead th:nth-child(2) { width: 16%; }
.results thead th:nth-child(3) { width: 13.5%; } .results thead th:nth-child(4) { width: 10%; }
.results thead th:last-child { width: 12.5%; }
.results td:last-child { padding-right: 0; }
.results small { display: block; font-weight: 400; font-size: .88em; }
.figure { white-space: nowrap; }
.data { font-size: .85rem; } .data table { width: auto; }
.data td, .data th { padding-right: 1rem; }
.scroll { overflow-x: auto; } .across { width: 130px; }
details { margin: .2rem 0 .6rem; } summary { cursor: pointer; }
.facts { display: grid; grid-template-columns: repeat(auto-fit, minmax(250px, 1fr));
  gap: .4rem 2rem; }
dl { margin: 0; display: grid; grid-template-columns: fit-content(42%) 1fr;
  gap: .15rem .8rem; }
dt { color: var(--soft); min-width: 6.5em; } dd { margin: 0; min-width: 0; }
.advice dl { grid-template-columns: 1fr; } .advice dt { color: var(--fg); font-weight: 600; }
.advice dd { margin-bottom: .6rem; }
figure { margin: .6rem 0; }
.pair, .many { display: grid; gap: .4rem 1.2rem; align-items: start; }
.pair { grid-template-columns: repeat(auto-fit, minmax(300px, 1fr)); }
.many { grid-template-columns: repeat(auto-fill, minmax(250px, 1fr)); }
.pair figure { max-width: 440px; }
footer { margin-top: 2.5rem; border-top: 1px solid var(--rule); padding-top: .6rem; }
.chart { display: block; width: 100%; height: auto; }
.narrow { display: none; max-width: 480px; }
.chart text { font: 12px system-ui, -apple-system, "Segoe UI", Roboto, "DejaVu Sans", sans-serif;
  fill: var(--fg); paint-order: stroke; stroke: var(--bg); stroke-width: 3px; }
.chart .over { stroke: none; }
.chart .axis, .chart .small { fill: var(--soft); font-size: 11px; }
.chart .struck { text-decoration: line-through; fill: var(--soft); }
.chart .job { font-weight: 600; }
.chart text.read { fill: var(--read); font-weight: 600; }
.chart text.write { fill: var(--write); font-weight: 600; }
.grid { stroke: var(--rule); stroke-width: 1; } .zero { stroke: var(--soft); stroke-width: 1; }
.band0 { fill: var(--band); } .band1 { fill: none; }
.l { fill: none; stroke-width: 1.7; stroke-linejoin: round; stroke-linecap: round; }
.l.read, .m0 { stroke: var(--read); } .l.write { stroke: var(--write); stroke-dasharray: 7 3; }
.m1 { stroke: var(--write); stroke-dasharray: 7 3; }
.m2 { stroke: var(--m2); stroke-dasharray: 2 3; }
.m3 { stroke: var(--m3); stroke-dasharray: 9 3 2 3; }
.m4 { stroke: var(--fg); stroke-dasharray: 1 4; }
.m5 { stroke: var(--m5); stroke-dasharray: 14 4; }
.range { stroke: none; fill-opacity: .22; } .range.read, .range.members { fill: var(--read); }
.range.write { fill: var(--write); }
.leader { stroke: var(--soft); stroke-width: .7; }
.bar { fill: var(--hill); stroke: var(--read); stroke-width: .8; }
.stem { stroke: var(--soft); stroke-width: 1.2; } .dot { fill: var(--read); }
.mark { fill: var(--fg); } .now { fill: var(--write); stroke: var(--fg); stroke-width: 1.2; }
.crossed { stroke: var(--bad); stroke-width: 1.8; fill: none; }
.median { stroke: var(--fg); stroke-width: 1.1; stroke-dasharray: 4 3; }
.normal { fill: var(--read); fill-opacity: .16; }
.hill { fill: var(--hill); stroke: var(--read); stroke-width: 1; }
.hill.invalid { fill: none; stroke: var(--soft); stroke-dasharray: 3 2; }
@media (max-width: 700px) {
  .wide { display: none; } .narrow { display: block; }
  main { padding: 16px 16px 32px; }
  .results thead { position: absolute; width: 1px; height: 1px; overflow: hidden;
    clip-path: inset(50%); }
  .results, .results tbody, .results tr, .results td, .results th { display: block; }
  .results tr { border-bottom: 2px solid var(--rule); padding: .6rem 0; }
  .results td, .results tbody th { border: 0; padding: .1rem 0; }
  .results td { display: grid; grid-template-columns: 6.5em minmax(0, 1fr); gap: .6rem; }
  .results td::before { content: attr(data-label); color: var(--soft); font-size: .85rem; }
  .results tbody th { font-size: 1rem; }
  .facts { grid-template-columns: 1fr; }
}
@media print {
  @page { size: A4; margin: 13mm; }
  body { font-size: 10.5pt; } main { max-width: none; padding: 0; }
  .wide { display: block; } .narrow { display: none; }
  * { print-color-adjust: exact; -webkit-print-color-adjust: exact; }
  figure, tr, .note, article, dl, .chart { break-inside: avoid; }
  h2, h3, thead, .soft { break-after: avoid; }
  .results, .scroll { font-size: 8.5pt; }
  .pair { grid-template-columns: 1fr 1fr; } .many { grid-template-columns: 1fr 1fr 1fr; }
  details { display: none; }
}
"""
