"""The numbers of Table 6."""

from __future__ import annotations

# Cost of an error: mean cost of a decision and accuracy, of DWSM and of Ji and Carin (2007).
TABLE_6 = {400.0: ((74.0, 0.76), (75.0, 0.75)), 800.0: ((181.0, 0.75), (180.0, 0.75))}
