"""Charts: what a policy asks in which state, as boxes and conditions; drawings and sentences of them."""

from fsgym.chart.chart import Chart

__all__ = ["Chart"]
