"""Rollouts Classification Policy Iteration (Dulac-Arnold, Denoyer, Preux and Gallinari, 2012, section 3.4).

Approximate policy iteration without a value function. The policy is greedy for one linear score per action, a function
of the observation phi(x, z): the mask z of the acquired features and their values. Each iteration has three steps:

1. Sample states (``sampling``): a random row and a random set of acquisitions.
2. Estimate the return of each legal acquisition in each state by a Monte Carlo rollout of the current policy
   (``rollouts``). The return of an answer is known: minus its error cost.
3. Fit the score of each action to its returns by ridge regression (``regression``), and mix the policy that is greedy
   for these scores into the current one, with weight 1 - alpha, as in conservative policy iteration.

The first policy is uniform over the legal actions, or answers immediately. The rewards are undiscounted: minus ``lam``
times the price of an acquisition, minus the error cost of an answer. At the end one of the greedy policies is selected
(``rcpi``).
"""

from agents.rcpi.classifier import DatumWiseClassifier
from agents.rcpi.fitted_q import FittedQ
from agents.rcpi.policy import LinearPolicy
from agents.rcpi.rcpi import RCPI

__all__ = ["RCPI", "DatumWiseClassifier", "FittedQ", "LinearPolicy"]
