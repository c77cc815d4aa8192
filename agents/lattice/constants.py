"""The constants of the lattice agent: names, units and origins.

Origins. "By hand": a plausible value, no alternative was measured. "Ablation": the change of the mean test loss in a
trial implementation when the value or the ingredient was replaced, with its standard error, over five prices ``lam`` on
development splits of six small data sets (breast cancer, heart, ionosphere, Pima diabetes, sonar, wine) and four larger
ones (segment, vowel, vehicle, spambase). Changes within two standard errors show that a value matters little.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

# Columns of a feature and numerical limits

COLUMNS_PER_FEATURE = 4  # the z-score and one hinge at each quartile
QUARTILES = (0.25, 0.5, 0.75)  # levels of the knots of the hinges
MAX_ABS_COLUMN = 6.0  # standard deviations at which columns and log-odds are clipped; by hand, against outliers
MIN_STD = 1e-12  # columns with a standard deviation up to this count as constant
MIN_PROBA = 1e-12  # probabilities are raised to it before a logarithm
MIN_PROBA_OF_ODDS = 1e-9  # the same, for the log-odds of two classes
TIE_TOLERANCE = 1e-12  # losses and error costs that differ by less count as equal

# Classifiers of the subsets (subset_classifier.py)

# The weights of the models are multiples of a quarter. Ablation: without boosted trees +.0129 (.0046) on the small data
# sets, without logistic regression +.0022 (.0050).
BLEND_STEPS = 4
# Temperatures to choose from; 1 leaves the probabilities as they are. Ablation: without them +.0036 (.0031) on the
# small data sets.
TEMPERATURES = (0.6, 0.75, 0.9, 1.0, 1.15, 1.35, 1.6, 1.8)
# For more than MAX_ROWS_SMALL rows as well, since forests of many classes are too cautious
LOW_TEMPERATURES = (0.4, 0.5)
MIN_CLASS_COUNT = 0.5  # rows that a class without rows counts as, so that its share is not 0
MISSING_ROW_WEIGHT = 0.05  # weight of rows that cannot reach a subset, as one of its values is missing; by hand
# Columns that a tree may split on, sampled where there are more. By hand: in the trial, the digits (64 features)
# exhausted the budget of operations without sampling.
MAX_TREE_COLUMNS = 16
TREE_L2 = 1.0  # is added to the sum of hessians in a leaf; by hand
MIN_LEAF_WEIGHT = 3.0  # least sum of row weights in a leaf; by hand, lowered from 5 when trees got half of the rows


class TreeSettings(NamedTuple):
    """How the boosted trees of a subset are grown."""

    rounds: int  # boosting rounds, each with one tree per output
    depth: int  # splits on each path
    rate: float  # shrinkage of each tree
    parts: int  # the rows are split into so many equal parts, and each round leaves one of them out


# By hand, for the training time: with two classes, 40 trees of half the rows had the same mean test loss as 80 trees of
# all rows; with more classes, 30 rounds had the same as 40. A lower rate avoids fitting noise.
SMALL_TREES_BINARY = TreeSettings(rounds=40, depth=3, rate=0.12, parts=2)
SMALL_TREES_MULTICLASS = TreeSettings(rounds=30, depth=4, rate=0.3, parts=3)
# For more than MAX_ROWS_SMALL rows
LARGE_TREES = TreeSettings(rounds=60, depth=6, rate=0.2, parts=3)
SHORT_TREES = TreeSettings(rounds=30, depth=4, rate=0.3, parts=3)
TREE_DEPTHS = {trees.depth for trees in (SMALL_TREES_BINARY, SMALL_TREES_MULTICLASS, LARGE_TREES, SHORT_TREES)}
# What is averaged for more than MAX_ROWS_SMALL rows: boosted trees or none, whether there is logistic regression, and
# the trees of a forest that leave each part of the folds out. The first with which MAX_OPERATIONS lasts for
# LEAST_SUBSETS of TYPICAL_FEATURES features. Boosted trees do most: without them, nursery at .003 loses .021, not .013.
# With two classes, logistic regression is added where it is cheap enough. Measured, loss without and with it: spambase
# at .01 .125 .113 and .134 .134, at .003 .081 .076, at .0003 .054 .053; splice .060 .052; adult .180 .179, .154 .155
# and .142 .143; phishing .060 .059; physionet2012 .147 .148; with three classes, thyroid_ann .007 and .010.
LARGE_MODELS = (
    (LARGE_TREES, False, 16),
    (LARGE_TREES, False, 6),
    (SHORT_TREES, True, 16),
    (SHORT_TREES, False, 6),
    (None, True, 16),
    (None, False, 16),
)
LEAST_SUBSETS, TYPICAL_FEATURES, TYPICAL_BINS = 50, 8, 24

MAX_FOREST_PARTS = 5  # parts to which the folds are united
FOREST_MIN_LEAF = 1.0  # least weight of the rows of a leaf of a forest. By hand: with 2, wine quality lost .008
# More where few of the rows are at stake, at most this share, as a small probability then decides: so much for each
# multiple of the smallest of the classes' error costs, and at most a share of the rows. Measured on generated tables of
# 20,000 and 100,000 rows with costs of 1000 and 40, leaves of 1, 25 and 100: loss above the optimum 1.3 to 3.3, 1.5 to
# 2.4 and -.1 to 1.5. Where half of the rows are at stake (phishing), a leaf of 40 was no better than 1.
SHARE_AT_STAKE_OF_LEAF, FOREST_LEAF_OF_MULTIPLE, MAX_LEAF_SHARE = 0.4, 4.0, 1 / 200
FOREST_COLUMNS_DIVISOR = 3  # each node of a forest chooses among a third of the columns
MAX_FOREST_COLUMNS = 16  # but at most among so many
MAX_FOREST_NODES = 4095  # of a tree; about twelve levels
MAX_BAG_ROWS = 30_000  # rows of each tree of a forest, in expectation
SHARE_SMOOTHING = 0.01  # weight of equal probabilities beside the shares of a forest, which may be 0

MAX_ROWS_SMALL = 1000  # rows up to which there is no forest, and no other model is left out; by hand
# The same where costs of errors or weights of rows differ: of the size at stake, where that is at most this share of
# the rows. Measured on generated tables of rare classes, loss of the lattice above the optimum, in shares of the loss
# of acquiring nothing, with the models of many rows and of few: 12 tables of 1,500 to 4,000 rows, at stake 150 to
# 1,270, .153 and .044; four of 5,000 and 8,000 rows, at stake 1,800 to 2,450, .075 and .028.
MAX_SIZE_AT_STAKE, MAX_SHARE_AT_STAKE = 2500, 0.5
# Penalties grow by the ratio of the rows to those at stake, up to this factor; by hand. Measured on 22 further tables
# that chose nothing, 600 to 4,000 rows, in the same unit: -.0114 (.0047).
MAX_SHRINKAGE = 10.0
LOGISTIC_ITERATIONS = 30  # of Nesterov's method; the objective is then within 1e-3 of its optimum in the tests
RIDGE_BINARY = 1.0  # on the difference of the coefficients of two classes; by hand
RIDGE_MULTICLASS = 0.3  # on each coefficient of three and more classes; by hand, lowered from 1
INTERCEPT_RIDGE_BINARY = 5e-4  # only keeps the curvature invertible
INTERCEPT_RIDGE_MULTICLASS = 1e-3  # only keeps the curvature invertible

# Cost model of a subset (subset_classifier.operations), in nanoseconds of one core. It decides which subsets fit into
# MAX_OPERATIONS, and is a formula since measured times would make results irreproducible. The coefficients were set by
# hand from the times of the parts. Measured on one core for 1 to 16 features of vowel, digits, spambase and letter:
# boosted trees take 0.8 to 1.2 times the model, the logistic regression 0.7 to 1.7 times, and the forest 0.7 to 1.8
# times, more only where it takes next to no time.

TREE_NS = 5000  # of a tree
TREE_ROW_NS = 21  # of a boosted tree and row
TREE_ENTRY_NS = 1.0  # of a boosted tree, row and column that it may split on
TREE_LEAF_BIN_NS = 5  # of a boosted tree, leaf and bin of those columns
# of an iteration, row and output of the logistic regression; and of one of its columns: two classes, and more
LOGISTIC_NS = ((17, 0.4), (10, 0.25))
MIN_COLUMNS_OF_FACTOR = 300  # columns above which the factor of the curvature takes time worth counting
FACTOR_DIVISOR = 5  # the factor takes n_columns^3 / 5 ns
SUBSET_NS = 1_000_000  # of a subset in all sweeps over the lattice
SUBSET_ROW_NS = 2_000  # of a subset and row in all sweeps
FOREST_ROW_NS = 10  # of a tree of a forest and row
FOREST_LEVEL_NS = 6  # of a tree, row and level
FOREST_COLUMN_NS = 7  # of a tree, row, level and column among which a node chooses

# Size of the lattice (nodes.py)

# Nanoseconds by the cost model, of all subsets. By hand: a fit at one price should take at most ten seconds on a slow
# core. 3e9 was too little for the some 100 subsets that benchmarks/context.py needs at its lowest price.
MAX_OPERATIONS = 6_000_000_000
ROWS_OF_MAX_OPERATIONS = 2500  # with more rows, MAX_OPERATIONS grows in proportion
MAX_ROWS_OF_OPERATIONS = 8000  # up to so many
# Rows of the sample that decides on the policy: with two classes; entries of its tables of probabilities with more
# classes, and the least number of rows
MAX_SAMPLE_ROWS, MAX_SAMPLE_ENTRIES, MIN_SAMPLE_ROWS = 50_000, 150_000, 20_000
# Leaves of a tree on the raw values whose thresholds are among those of the bins, for more than MAX_ROWS_SMALL rows of
# at most so many values: where a class begins at one value, bins of equal shares are too coarse
THRESHOLD_LEAVES, MAX_VALUES_OF_THRESHOLD_TREE = 100, 5_000_000
# Bins of a column by number of rows, up to and including the key; and for tables of more values than MAX_FINE_VALUES
MAX_BINS_BY_ROWS = {1000: 24, 3000: 64, np.inf: 255}
MAX_FINE_VALUES, COARSE_BINS = 20_000_000, 24
# Subsets with classifiers by number of rows, up to and including the key. Fewer on small data, where the best of many
# estimated errors is the luckiest; by hand.
MAX_SUBSETS = {1000: 120, np.inf: 250}
FULL_MODEL_WEIGHT = 0.25  # share of the full-feature classifier in the expected error cost; by hand
FULL_MODEL_DIVISOR = 10  # the full-feature classifier may take 1/10 of MAX_OPERATIONS, otherwise it is left out

# Learning (learn.py)

# Folds of the cross-fitting by rows times outputs, up to and including the key. Measured on eight small sets: 10
# instead of 5 +.0002 (.0019).
N_FOLDS = {8000: 5, np.inf: 3}
# Default of ``beta`` by number of rows, up to and including the key. Ablation: .5 instead of 1 +.0034 (.0036), 0
# instead of 1 +.0098 (.0033) on the small data sets.
EXPECTED_COST_SHARE = {600: 1.0, np.inf: 0.5}
# Sweeps over the first lattice, and over the one that has grown; by hand
N_FIRST_SWEEPS, N_FINAL_SWEEPS = 3, 2
N_GROWTH_ROUNDS = 3  # rounds in which the lattice grows at most; by hand
FALL_OF_LIMITED_GROWTH = 0.05  # relative fall of the training loss by growth that counts as still falling; by hand
# Standard errors by which growth must lower the loss of the training rows to be kept, by number of rows. Measured on
# eight small sets: growth at any gain -.0013 (.0013), by one -.0006 (.0007), by two -.0001 (.0001); contexts that
# select a context, 1,000 rows: .44 without growth, .24 with it, found by two in all of 12 fits.
MARGINS_OF_GROWTH = {1000: 2.0, np.inf: 1.0}

# Sweeps and regression of the advantages (sweep.py)

DEFAULT_KAPPA = 0.3  # standard errors. Ablation on the small data sets: 1 +.0054 (.0024), 0 -.0007 (.0021)
# Standard errors by which acquiring anything must pay. By hand: with 0.3, German credit at .03 lost .016 by it.
FIRST_KAPPA = 1.0
# Children of a subset to choose from. Ablation: 1 child -.0010 (.0021) on the small data sets, +.0029 (.0023) on the
# larger ones; 20 children: no change.
MAX_CHILDREN = 8
ARRIVED_WEIGHT = 1.01  # weight of a row in the choices at a subset that it reaches
ABSENT_WEIGHT = 0.01  # weight of the other rows, so that subsets that no row reaches are defined
REGRESSION_BASE_WEIGHT = 0.1  # weight of the other rows in the regressions; rows that arrive have 1 more. By hand
GO_ON_SHARE = 0.5  # of the remaining loss of rows that go on, the part that better children might save; by hand

BELIEF_PENALTY = 0.9  # ridge on belief features and cells. Ablation: 3 times or a third of all penalties: no change
VALUE_PENALTY = 9.0  # ridge on the columns of acquired values
INTERCEPT_PENALTY = 1e-6  # only keeps the Gram matrix invertible
N_BELIEFS = 5  # belief features beside the probabilities, see ``write_belief_features``
CONFIDENT_LOG_ODDS = 1.0  # knot of the hinge on half the log-odds: 1 is a probability of .88; by hand
MAX_FEATURES_WITH_HINGES = 4  # features up to which all columns of acquired values are used; by hand
MAX_FEATURES_WITH_VALUES = 20  # features up to which z-scores are used, above there are belief features only; by hand
MAX_CELLS = 64  # cells of discrete values that get an indicator each; none are used where there are more. By hand

# Screening (growth.py)

MAX_CONTEXT_CELLS = 6  # distinct values of an acquisition that are tried as contexts, quartiles above; by hand
MAX_TRIPLE_PRODUCTS = 4e9  # multiplications for all triples of features, some seconds; above, only pairs are tested
MAX_INTERACTION_FEATURES = 500  # features of which all pairs are tested; by hand, for time
MAX_INTERACTIONS = 3  # pairs and triples that are added; by hand
MIN_PRICE_SHARE = 1e-3  # cheaper acquisitions count as this share of the dearest price in the score by price; by hand
MIN_PRICE = 1e-12  # is added, for the case that all prices are 0
MIN_STATISTIC = 1e-12  # least score statistic in the denominator of a context's gain

# Growth of the lattice (growth.py), counts of subsets or acquisitions

LARGE_PROBLEM = 6000  # rows times outputs above which fewer candidates are fitted, for time
MAX_ALL_SINGLES = 14  # acquisitions up to which all single ones are added; by hand
N_SINGLES, N_SINGLES_LARGE = 12, 6  # the best of them otherwise, and on large problems; by hand

CHAIN_OPERATIONS_SHARE = 0.7  # of MAX_OPERATIONS, for the forward selection; the rest is left for growth. By hand
CHAIN_PATIENCE = 5  # steps without a lower loss after which it stops; by hand
# Row weight: the first plus the second times its answer cost in units of error costs; by hand
CHAIN_BASE_WEIGHT, CHAIN_COST_WEIGHT = 0.1, 2
CHAIN_LOG_LOSS_WEIGHT = 0.2  # of the log-loss beside the loss, in units of error costs, when a step is chosen; by hand
CHAIN_SHORT = 4  # acquisitions below which a step tries the first number of candidates, from then on the second
# Numbers of candidates, and on large problems. By hand: with 4 at every step, the digits (64 features) used up
# MAX_OPERATIONS after 8 acquisitions.
CHAIN_CANDIDATES, CHAIN_CANDIDATES_LARGE = (4, 2), (2, 1)
CHAIN_LONG = 5  # acquisitions from which a step adds several together; by hand
CHAIN_LONG_DIVISOR = 4  # a quarter of the acquisitions so far; by hand

N_CHEAP_FIRST = 3  # acquisitions that are tried before the subset of the forward selection; by hand
N_CONTEXTS = 3  # contexts that are tried; by hand
N_NESTED_CONTEXTS = 1  # second contexts that are tried after each of them; by hand
N_AFTER_CONTEXT = 2  # acquisitions that are added in each cell of a context; by hand
MIN_CONTEXT_GAIN = 1  # factor by which a context must raise the best score statistic
# Natural logarithm of one over the number of pairs of acquisitions that are expected to pass the test for contexts by
# chance; by hand
CONTEXT_LEVEL = 1.0
# Degrees of freedom of the largest statistic of a feature's columns. Simulated for 30 normal features, 400 rows and no
# context: of 10 tables, 2 pass the test with 3, 8 with 2, 10 with 1.
COLUMNS_OF_STATISTIC = 3
MIN_NESTED_GAIN = 2  # factor above which a second context is tried; by hand
# Rows x columns x acquisitions x classes above which no contexts are tried; by hand, so that the score tests leave a
# fit within ten seconds on a slow core.
MAX_CONTEXT_ENTRIES = 1.5e8

# Paths of the CART tree that are added. Ablation: without them -.0008 (.0015) on the small data sets, +.0034 (.0018)
# on the larger ones.
CART_MAX_FEATURES = 500  # features that the tree may use, those with the largest statistics; by hand, for time
# Leaves of that tree and paths by number of rows, up to and including the key. USPS, splits of its own: 60 leaves
# instead of 20 lowered the loss at a price of .03 from .360 to .315.
CART_LEAVES_AND_PATHS = {1000: (20, 40), np.inf: (60, 120)}
CART_MIN_LEAF_ROWS = 5  # by hand

MAX_SMALLER_SUBSETS = 12  # subsets with one acquisition less that are added in a round; by hand
N_GROWTH_SUBSETS = 10  # subsets with the largest losses that get children in a round; by hand
N_GROWTH_CHILDREN = 2  # children that each of them gets; by hand
# Acquisitions of the further child that skips the subset between: where three features vote, one more changes no
# answer.
N_GROWTH_AT_ONCE = 2

# Model files (plan.py)

# Largest absolute coefficient, score or leaf value that a model file may hold; far above all fitted ones, and sums of
# products with columns stay finite.
MAX_PLAN_NUMBER = 1e12
MIN_TEMPERATURE = 0.1  # least temperature that a model file may hold

# Answers that cannot be obtained, and values that are known in advance (held.py)

DEFAULT_UNKNOWN = 0.1  # probability that an acquisition of a masked row cannot be obtained; by hand
# Share of the masked rows that also lack one acquisition of their own path, so that back-ups of all acquisitions on the
# paths are learned whatever ``unknown`` is; by hand.
PATH_MASK_SHARE = 0.75
N_MASKED_ROWS = 1000  # least number of masked rows; training rows are repeated, each time with another mask. By hand
MAX_MASK_COPIES = 8  # masked rows of each training row at most; by hand
MAX_MASKED_ROWS = 20_000  # a sample of the training rows where there are more; by hand, for memory
N_MASKED_PASSES = 2  # backward passes over the masked rows, the last with the arrivals of the one before; by hand
MIN_BACKUP_ROWS = 10  # masked rows from which a back-up is learned on them only, not on all rows; by hand
MIN_ADAPTIVE_BACKUP_ROWS = 40  # masked rows from which a back-up may depend on the row; by hand
MAX_BACKUPS, MAX_FIRST_BACKUPS = 8, 64  # back-up moves of a subset, and of the empty one; by hand
# Of the limits on operations and subsets, on top of them, for subsets without one feature. By hand: with a fifth of the
# answers unknown, vehicle has .728 and .705 correct with .6, .713 and .689 with .3.
ALTERNATIVES_SHARE = {5000: 0.25, np.inf: 0.1}
# Of the effort, for a policy that never makes the acquisition with which most rows begin
WITHOUT_FIRST_EFFORT = {5000: 0.4, np.inf: 0.25}
N_WITHOUT = 6  # acquisitions on most paths for which subsets without them are added; by hand
N_FIRST_WITHOUT = 24  # single acquisitions that are added, so that a row with few available ones still acquires
FIRST_WITHOUT_SHARE = 0.4  # of the operations for alternatives, for single acquisitions; by hand
N_LOCKED = 8  # acquisitions that are added without their prerequisites, from which a case may start; by hand
WITHOUT_CANDIDATES = 2  # candidates of each step without an acquisition; by hand
WITHOUT_PATIENCE = 2  # steps without a lower loss after which such a chain stops; by hand
WITHOUT_SHARE = 0.6  # of the operations that are left, for these chains; by hand
N_MASKED_GROWTH_SUBSETS = 10  # at which masked rows lose most, that get children; by hand
START_ERRORS = 1.0  # standard errors that are added to the value of a start other than the empty subset; by hand
MAX_START_ROWS = 5000  # about as many training rows at most are rolled out from each start; by hand, for time
MAX_START_SIZE = 3  # acquisitions of the subsets that are added as starts; by hand
# Subsets that are added for starts: a share of the others, but not fewer than the number; by hand, for model files.
START_SUBSETS_SHARE, MIN_START_SUBSETS = 1.0, 16
# Share of the rows that make a move from which it is held, at a subset that the policy cannot reach and from which no
# masked row makes it; by hand, for model files.
MIN_CHILD_SHARE = 0.02
# Trees of a final forest as a share, by number of rows, up to and including the key; and that of subsets that only rows
# with unobtainable or known values reach. By hand, for time; out of fold a third or a fifth of the trees predict.
SHARE_OF_FINAL_TREES = {5000: 1.0, np.inf: 0.5}
SHARE_OF_TREES_OF_BACKUPS = 1 / 3
MAX_REMEMBERED = 2**23  # numbers in the memory of probabilities of rows; by hand: 64 MiB
