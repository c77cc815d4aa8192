"""
Unknown answers
===============

A test was made, and there is no result. The model then asks for something else. Here the first question of every case
has no result, which costs accuracy and further questions, but no case fails.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split

from agents import LatticeClassifier

X, y = load_breast_cancer(return_X_y=True, as_frame=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, stratify=y, random_state=0)
model = LatticeClassifier(lam=0.01, random_state=0).fit(X_train, y_train)


def answer_case(row, unknown_first):
    """The answer for one row, and the names of what was acquired."""
    session, asked = model.session(), []
    while question := session.next():
        if unknown_first and not asked:
            session.unknown(question.name)
        else:
            session.answer(question.name, float(X_test.loc[row, question.name]), accept=True)
        asked.append(question.name)
    return session.stop(), asked


# %%
# One case, asked in both ways.
for unknown_first in (False, True):
    answer, asked = answer_case(X_test.index[0], unknown_first)
    print("first one unknown:" if unknown_first else "all known:", ", ".join(asked), "->", answer)

# %%
# The first forty test rows.
figure, axes = plt.subplots(figsize=(6, 3.5), layout="constrained")
for unknown_first in (False, True):
    outcomes = [answer_case(row, unknown_first) for row in X_test.index[:40]]
    correct = sum(answer == y_test[row] for (answer, _), row in zip(outcomes, X_test.index[:40], strict=True))
    n_asked = sorted(len(asked) for _, asked in outcomes)
    axes.step(n_asked, range(1, 41), where="post", label="first one unknown" if unknown_first else "all known")
    print(
        f"first one unknown: {unknown_first!s:5}  correct: {correct} of 40  "
        f"questions: {sum(len(asked) for _, asked in outcomes) / 40:.2f}"
    )
axes.set(xlabel="questions asked", ylabel="cases that end with at most so many")
axes.legend()
plt.show()
