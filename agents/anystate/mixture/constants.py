"""The constants of the mixture: names, units and origins.

"By hand" is a plausible value to which no alternative was measured. "Measured" values were chosen on the generators
``cube`` and ``cube_nm`` (own seeds) and on splits 100 to 104 of wine, heart, Pima diabetes, vehicle, segment and
ionosphere, by the log-loss of the class over random subsets or by the loss of whole episodes.
"""

# Variables (variables.py)

MAX_CATEGORY_LEVELS = 12  # distinct values up to which a feature is a category; by hand
ROWS_OF_LEVEL = 5.0  # least mean number of rows with each of them; by hand
COLUMNS_OF_NUMBER = 3  # sufficient statistics of a number: z, its square and 1
MAX_ABS_Z = 6.0  # standard deviations at which numbers are clipped; by hand, against outliers
CLIP_QUANTILES = (0.02, 0.98)  # of a number, for its mean and standard deviation; by hand
CLIP_MARGIN = 1.0  # distances of these quantiles by which values may lie outside; by hand
N_KNOTS = 65  # most values at which the normal score of a number is computed; by hand
MIN_SHARE_OF_KNOT = 1e-9  # of the weight, which a value must have: the score of an end might be infinite; by hand
MIN_KNOTS = 3
MIN_SCALE = 1e-12  # standard deviations up to this count as constant
INDICATED = 0.5  # an indicator above this is on

# Fit of the components (em.py)

N_COMPONENTS = (1, 2, 4, 8)  # per class, to choose from
MIN_ROWS_OF_COMPONENT = 6.0  # of the smallest class, to try so many components; by hand
VARIANCE_ROWS = 4.0  # rows that the variance of the whole counts as
MEAN_ROWS = 1.0  # rows that the mean of the class counts as
LEVEL_ROWS = 2.0  # rows that the level shares of the whole count as
COMPONENT_ROWS = 1.0  # rows added to each component's share
MIN_VARIANCE = 1e-4  # of a z-score, against components of one value
N_STARTS = 4  # random starts of each class, beside the common one; by hand
START_STEPS = 8  # EM steps before the best start is chosen; by hand
MAX_STEPS = 60  # EM steps; by hand
TOLERANCE = 1e-5  # gain of the mean log-likelihood at which EM stops, in nats per row
COMMON_STEPS = 20  # EM steps of the components of all classes; by hand
WHOLE_ROWS = (1e-9, 1e-9)  # the same of the whole, which is not shrunk, against division by 0
WHOLE_COUNT = 0.5  # rows added to each level of the whole
MIN_DISTANCE = 1e-12  # of a row from the nearest start, in nats
START_ROWS = 3.0  # rows that a row counts as, around which a component starts; by hand
MIN_CLASS_ROWS = 0.5  # rows that a class without rows counts as in a fold; without any row its share is exp of the next
LOG_SHARE_OF_ABSENT = -1e9  # 0 after any evidence, and finite, as numbers in model files must be

# Honest probabilities (tuning.py)

FEW_VARIABLES = 20  # up to so many, subsets of all sizes are drawn alike, otherwise more small ones; by hand
MIN_PROBABILITY = 1e-12  # of the true class, where candidates are compared
MIN_SUMMED = 1e-250  # of the true class; below, where exponentials underflow, its best component stands for all
EXPONENT_PENALTY = 2.0  # of the squared logarithm of an exponent, in nats; by hand
EXPONENT_STEPS = 40  # of L-BFGS
EXPONENT_STEPS_OF_CHOICE = 10  # the same, to choose the number of components
# Gradient steps to choose from. Measured, log-loss over random subsets with 0 and 800 steps at rate .01: vehicle .822
# and .726, segment .539 and .467, ionosphere .251 and .229; heart .483 and .542, cube_nm .904 and .929.
TUNING_STEPS = (0, 150, 600)
TUNING_RATE = 0.01  # of a coefficient's size
TUNING_OFFSET = 0.3  # added to that size
TUNING_WARM_UP = 50  # steps until the rate is reached
TUNING_BATCH = 256
# Variables of which the coefficients are tuned. Measured, loss and fit on own splits with all, 256 and 128: isolet5 at
# .003 .163 .123 .132 in 187, 118, 109 s; 2,000 rows of usps at .01 .268 .268 .257 in 53, 50, 34 s; 67 rows of lymphoma
# (4,026 columns) at .003 .374 .333 .374 in 51, 10, 6 s; colon at .003 .118 each in 15, 5, 5 s.
MAX_TUNED = 128
ADAM_DECAY = (0.9, 0.99)
ADAM_OFFSET = 1e-8

# Choice of the number of components and steps (fitting.py)

ROWS_OF_COMPARISON = 4000  # rows on which encodings are compared; by hand
MAX_ROWS = 24_000  # a stratified sample of so many rows is used of a larger table
MAX_VALUES = 4_000_000  # the same, of rows times columns of the design
MAX_ROWS_OF_ALL_FOLDS = 3_000  # up to so many rows, all folds choose; of more, the first fold
CHECKED_ROWS = 8_000  # random subsets on which the candidates are compared
MAX_SUBSETS = 8  # of a row
# Standard errors by which normal scores must be better than z-scores. Measured gains in this unit: segment 5.1 to 6.8,
# vehicle 0 to 1.3, Pima diabetes 1.2 to 1.9, wine -.8 to .9, cube_nm -7 to -3.6, with 7 contexts -3.4 to -1.3.
MIN_GAIN_OF_SCORES = 1.0
MIN_GAIN = 0.5  # standard errors by which more components or steps must be better; by hand

# Components of the mixtures by which z-scores are compared with normal scores. Measured, mean loss over four prices
# without and with normal scores: segment .148 .120, vehicle .383 .369, ionosphere .173 .159, Pima diabetes .292 .289.
COMPONENTS_OF_COMPARISON = 4

# What acquisitions reveal (points.py)

N_POINTS = 16  # intervals of a number
N_GRID = 601  # places at which the distribution of a number is computed, to find equally probable intervals
MIN_MASS = 1e-9  # least probability of a point in a component
# Known variables for which the posterior after a point is computed. Measured, mean loss over four prices with points of
# the densities, of the tuned mixture for 1 and for 5: vehicle .401 .397 .383, segment .154 .154 .148, vowel .246 .243
# .242, heart .271 .267 .266, Pima diabetes .289 .297 .292, syn1 .283 .279 .272.
USUAL_KNOWN = 5.0
N_SAMPLED = 1024  # rows that are sampled for a group of several variables
N_CELLS = 32  # most cells of such a group
NEAR = 1e-3  # squared distances of posteriors below this count as equal
CLUSTER_STEPS = 8  # of k-means

# Preference of acquisitions (kernels.py, model.py)

COMPONENT_WEIGHT = 0.1  # weight of the information about the component beside the expected reduction of the error cost
MIN_PRICE_SHARE = 0.01  # of the mean legal price: cheaper acquisitions count as so expensive; by hand
NEGLIGIBLE = 1e-3  # components with less of the posterior are left out of expectations
N_INPUTS = 11  # of the regression on returns
MIN_COST = 1e-3  # units of error costs; expected ones are at least so large where something is divided by them

# Bounds of numbers in model files

MAX_COEFFICIENT = 1e12
MAX_COUNT_POWER = 20.0
MASS_TOLERANCE = 1e-6  # of sums of probabilities that must be 1
