"""Table 6: by the cost of an error the mean cost, the accuracy, and both as Ji and Carin (2007) have them."""

from __future__ import annotations

PRINTED = {400.0: (74.0, 0.76, "75, .75"), 800.0: (181.0, 0.75, "180, .75")}
