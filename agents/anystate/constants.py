"""The constants of the policy part of the any-state agents."""

from __future__ import annotations

import numpy as np

# Roll-outs of the training rows (rollouts.py); by hand
MAX_ROLLOUT_LENGTH = 25  # acquisitions of a row
MAX_ROLLED_ROWS = 6000  # rows that are rolled out
MAX_KNOWN = 3  # acquisitions that are known in advance where rows start in random states
MAX_UNAVAILABLE = 0.3  # largest share of a row's acquisitions that are then unavailable

# The regression that decides whether to go on (stopping.py); by hand
LEVELS = (0.1, 0.3, 0.5, 0.7, 0.9)  # of the quantiles that are knots of the hinges
SMALL_ERROR = 1e-3  # is added to the expected error cost, in units of the largest error cost, before its logarithm
MAX_ABS_SCORE = 4.0  # standard deviations at which inputs are clipped
STOP_RIDGE = 3.0  # on all columns but the intercept, with inputs of unit variance
# Power of (expected error cost + price) by which the weight of a state is divided: differences near certainty are
# small but decide often. Measured on cube at .003 with an exact model: 0 lost .0051, 1 .0027, 2 .0033 above the
# reference.
PRECISION = 1.0
N_ROUNDS = 6  # regressions, each on the returns of the rule before
WEIGHT_OF_UNVISITED = 0.1  # of states that the rule before does not reach; states that it reaches weigh 1 more
WEIGHT_OF_RANDOM_STARTS = 0.3  # of states that follow a random start
# Weight of the expected error cost in the cost of answering, beside the realised one, by number of rows
EXPECTED_SHARE = {600: 0.75, 3000: 0.5, np.inf: 0.25}
N_THRESHOLDS = 40  # levels of the expected error cost among which the first rule is chosen

N_FOLDS_BY_ROWS = {1000: 5, np.inf: 3}
