"""
A policy as a chart
===================

What the model asks in which state, and where each answer leads. Cases come in at the left; a line of a box says for
which values a case goes on to which box, or what the model answers, with the errors and what was paid by then.
"""

from pathlib import Path

from sklearn.datasets import load_wine
from sklearn.model_selection import train_test_split

from agents import LatticeClassifier

X, y = load_wine(return_X_y=True, as_frame=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, stratify=y, random_state=0)
model = LatticeClassifier(lam=0.15, random_state=0).fit(X_train, y_train)

# %%
# ``fidelity`` is the share of the cases in which the chart does as the policy does. A notebook shows the
# drawing by itself.
chart = model.chart(X_test, y_test, max_boxes=3)
Path("chart.svg").write_text(chart.to_svg(), encoding="utf-8")
print(chart)

# %%
# The same in words.
print(chart.to_text())
