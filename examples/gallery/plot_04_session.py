"""
A session
=========

One case, question by question, as a form or a service asks it: values known in advance, reasons, an answer taken back,
and a case that is saved and continued.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_wine

from agents import LatticeClassifier

X, y = load_wine(return_X_y=True, as_frame=True)
model = LatticeClassifier(lam=0.02, random_state=0).fit(X, y)
case = X.iloc[60]

session = model.session(known={"hue": float(case["hue"])}, unavailable=["proline"])
while question := session.next():
    print(session.why())
    session.answer(question.name, float(case[question.name]), accept=True)
print("answer:", session.stop(), " paid:", session.spent)

# %%
# The probabilities as a picture: what each answer did to the belief.
asked = [entry for entry in session.log() if entry.probabilities is not None]
figure, axes = plt.subplots(figsize=(6, 3.5), layout="constrained")
for name in model.classes_:
    belief = [entry.probabilities[name] for entry in asked]
    axes.plot([entry.name for entry in asked], belief, marker="o", label=f"class {name}")
axes.set(ylabel="probability", ylim=(0, 1))
axes.legend()
plt.show()

# %%
# Undo takes any answer back, and the model goes on from what is left.
last = session.log()[-1].name
session.undo(last)
print("taken back:", last, " asks again:", session.next().name)

# %%
# The text of a session continues with the same model, in another process or on another day.
text = session.to_json()
resumed = model.resume(text)
print(len(text), "characters;", resumed.next().name, "is the next question, paid so far:", resumed.spent)

# %%
# The log has what happened, with the class probabilities after each step.
for entry in resumed.log():
    print(entry.name, entry.kind, entry.values, entry.price)
