"""A table whose names of columns, levels and classes try to be markup, scripts and templates; and its classifier."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pandas as pd

import fsgym
from agents import LatticeClassifier

SCRIPT = "</title><script>alert(1)</script>"
IMAGE = '"><img src=x onerror=alert(2)>'
QUOTE = "' autofocus onfocus='alert(3)"
TEMPLATE = "{{ 7 * 191 }}{% raise %}"
LONG = "a name that is as long as a sentence " * 4
HOSTILE_NAMES = [SCRIPT, IMAGE, QUOTE, TEMPLATE]
HOSTILE_LEVELS = ["<b onclick=alert(4)>x</b>", "javascript:alert(5)", '"/><svg onload=alert(6)>']
MANY_LEVELS = [f'"><script>alert({k})</script>' for k in range(12)]
HOSTILE_CLASSES = ["</ul><script>alert(7)</script>", "<iframe src=javascript:alert(8)>"]


@cache
def hostile_model() -> Any:
    """A classifier that asks for columns with such names."""
    rng, n = np.random.default_rng(0), 160
    values = rng.normal(size=n).round(2)
    levels, codes = rng.integers(0, 3, n), rng.integers(0, 12, n)
    table = pd.DataFrame(
        {
            SCRIPT: values,
            IMAGE: np.array(HOSTILE_LEVELS)[levels],
            QUOTE: rng.random(n) < 0.5,
            TEMPLATE: np.array(MANY_LEVELS)[codes],
            LONG: rng.normal(size=n).round(2),
        }
    )
    sick = values + (levels == 1) + 0.1 * codes + rng.normal(0, 0.3, n) > 0.8
    data = fsgym.load_dataset(
        table.assign(y=np.array(HOSTILE_CLASSES)[sick.astype(int)]), target="y", units={SCRIPT: "<i>"}
    )
    return LatticeClassifier(lam=0.01, random_state=0).fit(data)
