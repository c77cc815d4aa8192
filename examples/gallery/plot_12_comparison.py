"""
A comparison with a picture
===========================

The methods of ``fsgym compare``, on the same splits and at the same prices. ``summarise`` has the tables, ``plot`` the
pictures.
"""

import matplotlib.pyplot as plt

import fsgym

results = fsgym.compare("wine", ["panel", "stopping", "cart", "l1_svm"], lam=[0.01, 0.05], splits=2)
print(results.attrs["answer"])

# %%
print(fsgym.summarise(results, within=[1, 2, 4]).within[["method", "k", "accuracy"]].round(3).to_string(index=False))

# %%
fsgym.plot.curves(results)
plt.show()
