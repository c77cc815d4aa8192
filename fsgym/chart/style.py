"""The style sheets of drawn charts."""

CHART_STYLE = """
.fsgym-chart { font: 12px system-ui, sans-serif;
  --ink: #1d2733; --soft: #55616e; --line: #b9c3cd; --card: #fff; --row: #f3f6f9; --mark: #0b62c4;
  --class0: #3b6fb6; --class1: #d9822b; --class2: #4d9a5b; --class3: #a05aa8;
  --class4: #c2504f; --class5: #7a7a2e; --class6: #2f9aa0; --class7: #8a6d5a; }
.fsgym-chart text { fill: var(--ink); }
.fsgym-chart .soft { fill: var(--soft); }
.fsgym-chart .name { font-weight: 650; font-size: 13px; }
.fsgym-chart .ends { font-weight: 600; }
.fsgym-chart .card { fill: var(--card); stroke: var(--line); }
.fsgym-chart .row { fill: var(--row); }
.fsgym-chart .edge { fill: none; stroke: var(--soft); stroke-opacity: .75; }
.fsgym-chart .edge.unknown { stroke-dasharray: 4 4; }
.fsgym-chart .here .card { stroke: var(--mark); stroke-width: 3; }
.fsgym-chart .class0 { fill: var(--class0); } .fsgym-chart .class1 { fill: var(--class1); }
.fsgym-chart .class2 { fill: var(--class2); } .fsgym-chart .class3 { fill: var(--class3); }
.fsgym-chart .class4 { fill: var(--class4); } .fsgym-chart .class5 { fill: var(--class5); }
.fsgym-chart .class6 { fill: var(--class6); } .fsgym-chart .class7 { fill: var(--class7); }
"""
DARK_STYLE = """
@media (prefers-color-scheme: dark) { .fsgym-chart {
  --ink: #e6ebf0; --soft: #a3afbb; --line: #4a5662; --card: #1b232b; --row: #242e38; --mark: #6cb2ff;
  --class0: #7aa7e6; --class1: #eba45e; --class2: #7fc58c; --class3: #c78fce;
  --class4: #e88785; --class5: #b9b95f; --class6: #63c5cb; --class7: #bb9c88; } }
"""
