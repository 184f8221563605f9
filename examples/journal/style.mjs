/** How the page looks, in the light or dark theme of its reader. */

export const STYLE = `
:root {
  color-scheme: light dark;
  --ink: #1b1f24; --paper: #fff; --line: #8c959f; --read: #0a5fb4; --written: #d1762b;
}
@media (prefers-color-scheme: dark) {
  :root { --ink: #e6edf3; --paper: #0d1117; --line: #7d8590; --read: #5aa5f0; --written: #f0a35a }
}
body {
  font: 16px/1.5 system-ui, sans-serif; max-width: 52rem; margin: 2rem auto; padding: 0 1rem;
  color: var(--ink); background: var(--paper);
}
table { border-collapse: collapse; margin: 1rem 0; width: 100% }
caption { text-align: left; font-weight: 600 }
th, td {
  text-align: right; padding: .2rem .6rem; border-bottom: 1px solid var(--line);
  font-variant-numeric: tabular-nums;
}
th:first-child, td:first-child { text-align: left; overflow-wrap: anywhere; font-weight: inherit }
svg { width: 100%; height: auto }
svg text { fill: var(--ink); font-size: 12px }
.read { fill: var(--read) }
.written { fill: var(--written) }
.axis { stroke: var(--line) }
`;
