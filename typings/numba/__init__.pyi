# Numba's own types refuse options of njit that exist, such as _nrt; here a compiled function may be anything.
from typing import Any

def __getattr__(name: str) -> Any: ...
