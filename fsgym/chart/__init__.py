"""Charts: what a policy asks in which state, as boxes and conditions; drawings and sentences of them."""

from fsgym.chart.chart import Chart
from fsgym.chart.style import CHART_STYLE

__all__ = ["CHART_STYLE", "Chart"]
