/**
 * Embedded in every drawing, so that a file alone looks right in light and in dark. A page that
 * shows drawings sets `--statechart-*` to its own colours; nothing here reaches outside them.
 */
export const style = `
.statechart {
  --ink: var(--statechart-ink, #1f2328);
  --quiet: var(--statechart-quiet, #656d76);
  --line: var(--statechart-line, #7d8590);
  --paper: var(--statechart-paper, #ffffff);
  --box: var(--statechart-box, #f6f8fa);
  --inner: var(--statechart-inner, #ffffff);
  --border: var(--statechart-border, #afb8c1);
  --accent: var(--statechart-accent, #0969da);
  --accent-box: var(--statechart-accent-box, #ddf4ff);
  font: 12px system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif;
}
@media (prefers-color-scheme: dark) {
  .statechart {
    --ink: var(--statechart-ink, #e6edf3);
    --quiet: var(--statechart-quiet, #9198a1);
    --line: var(--statechart-line, #848d97);
    --paper: var(--statechart-paper, #0d1117);
    --box: var(--statechart-box, #151b23);
    --inner: var(--statechart-inner, #212830);
    --border: var(--statechart-border, #57606a);
    --accent: var(--statechart-accent, #58a6ff);
    --accent-box: var(--statechart-accent-box, #12314f);
  }
}
.statechart .paper { fill: var(--paper); }
.statechart text { fill: var(--ink); }
.statechart .box { fill: var(--inner); stroke: var(--border); stroke-width: 1.25; }
.statechart .compound > .box, .statechart .parallel > .box { fill: var(--box); }
.statechart .region > .box { stroke-dasharray: 5 4; }
.statechart .rule { stroke: var(--border); }
.statechart .ring { fill: none; stroke: var(--border); }
.statechart .name { font-size: 14px; font-weight: 600; }
.statechart .middle { text-anchor: middle; }
.statechart .line { fill: none; stroke: var(--line); stroke-width: 1.25; }
.statechart .head, .statechart .dot { fill: var(--line); }
.statechart .guard { fill: var(--quiet); }
.statechart .wordless .event { font-style: italic; }
.statechart .active > .box { stroke: var(--accent); stroke-width: 2; }
.statechart .active:not(.compound, .parallel) > .box { fill: var(--accent-box); }
.statechart .shared { visibility: hidden; }
.statechart .transition:is(.taken, :hover) .shared { visibility: visible; }
.statechart .transition:is(.taken, :hover) .line { stroke: var(--accent); stroke-width: 2; }
.statechart .transition:is(.taken, :hover) :is(.head, .event) { fill: var(--accent); }
`
