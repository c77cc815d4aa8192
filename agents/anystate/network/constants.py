"""Constants of the networks, with units and origin. "Trial": a measured trial on synthetic tasks, other seeds."""

import numpy as np

# Embedding
MAX_ABS_INPUT = 5.0  # standard deviations; by hand
MANY_KNOTS, FEW_KNOTS = (0.25, 0.5, 0.75), (0.5,)  # quantiles of the hinges; trial
MAX_FEATURES_MANY_KNOTS = 30  # features; trial: three hinges help on 20 features, and harm on 55
MIN_SPREAD = 1e-3  # standard deviations of the feature; against division by 0
MAX_ACQUISITIONS = 128  # acquisitions that the networks use; by hand: time grows with them
SCREENING_BINS = 8  # bins of a feature for its relevance; by hand
MAX_CORRELATION = 0.75  # between chosen acquisitions; trial on images
SECOND_CHOICE = 1e-6  # of the relevance counts for an acquisition that correlates with a chosen one

# All networks
HIDDEN_UNITS = (128, 128)  # trial: 256 units, 3 layers or LayerNorm do not help
MAX_ABS_PARAMETER = 1e6  # in model files; float32 cannot overflow below it

# Class probabilities
# Rows of a step, by number of rows. Measured on Syn: with 10,000 rows 512 and 1024 are no better than 256; with 60,000
# the loss with 1024 is .0095 lower on the third rule, and level on the second.
BATCH_ROWS_BY_ROWS = {30_000: 256, np.inf: 1024}
# Steps of each predictor, by number of rows. Measured: 2000 are much better than 1000 on blocks that a context selects,
# and 5000 than 2000 on 60,000 rows.
N_STEPS_BY_ROWS = {30_000: 2000, np.inf: 5000}
PREDICTOR_RATE = 5e-3  # highest learning rate; trial: better than 2e-3
SHARE_FINE_TUNING = 0.15  # steps of fine-tuning, as a share of those of a predictor
FINE_TUNING_RATE = 2.5e-3
FINE_TUNED_SHARES = (0.0, 0.25, 0.5, 0.75, 1.0)  # of the way from the parameters before; by hand
WEIGHT_DECAY = 1e-4
WARM_UP = 0.1  # share of the steps
MAX_ACQUISITIONS_UNIFORM_SHARE = 20  # acquisitions; trial: with more of them, small subsets are drawn more often
SCORE_TEMPERATURES = (0.7, 0.8, 0.9, 1.0, 1.1, 1.2, 1.35, 1.5, 1.75, 2.0)
MAX_TEMPERATURE_STATES = 10_000  # states on which the temperature is chosen; by hand

# Ranking
SHARE_RANKING = 0.45  # steps, as a share of those of a predictor
RANKING_RATE = 3e-3  # highest learning rate; trial
LAST_RATE_SHARE = 0.02  # of the highest learning rate; trial
RANKING_WARM_UP_STEPS = 50
LAST_LAYER_SCALE = 0.1  # of the initial weights of the ranking's last layer; trial
AVERAGING_RATE = 0.01  # of the averaged parameters; trial
N_CHAIN_STATES = 128  # states of a step from episodes, and as many at random; trial
# Weight of the entropy, scaled to the range of the expected error, in differences between acquisitions
ENTROPY_WEIGHT = 0.1  # measured: .05 to .2 help as much, and more or less harms
DISCOUNTS = (0.5, 0.9)  # of what comes later, in the first and the second half of the steps; trial
EXPLORATION_SD = 0.02  # largest error costs; of the noise on the second acquisition
SHARE_GREEDY = 0.7  # of the moves of an episode
SHARE_RESTARTS = 0.8  # of the episodes where answering looks best
SHARE_CHAIN_ROWS = 0.6  # of the rows of a step of fine-tuning that come from episodes
N_RECENT_STEPS = 150  # steps whose states the fine-tuning uses
MAX_PRICE = 1e6  # largest error costs; nothing is worth more, and float32 could overflow
MIN_DIVISOR = 1e-3  # largest error costs; against division by 0
OUTSIDE_PREFERENCE = 1e6  # largest error costs; minus the preference of acquisitions that the networks do not use

N_FITS_BY_ROWS = {30_000: 1, np.inf: 2}  # rankings that are trained, by number of rows

# Ranking: exact returns
N_VALUE_ROUNDS, N_CONTRAST_ROUNDS = 1, 5  # measured: with values only at first, and many short rounds, best
N_RECENT_ROUNDS = 3  # rounds whose returns are used
TRIED_STATES_PER_STEP = 30  # of a round
MAX_EVALUATIONS_PER_TRIED_STATE = 20  # states evaluated in a round's rollouts; limits the time of long episodes
BLOCK_STATES = 1024  # states whose rollouts are made together; by hand
MAX_EVALUATION_ROWS = 6000  # rows on which a round's policy is evaluated
N_EPISODES, MAX_PASSES = 2000, 10  # episodes begun together, and how often at most, to find the states of a round
MAX_LENGTH = 20  # acquisitions of an episode; trial
SHARE_EMPTY_STATES = 0.25  # of the episodes whose empty state is used
SHARE_STOPS = 0.7  # of the episodes end where answering looks best
SHARE_BEST, SHARE_GOOD = 0.8, 0.5  # of the moves follow the ranking; of the others, go to one that looks good
ROLLOUT_DISCOUNT = 0.9  # of what comes after the first acquisition, for differences between acquisitions
SHARE_ROLLOUTS = 0.1  # steps of a round, as a share of those of a predictor
ROLLOUT_RATE, LAST_ROLLOUT_RATE_SHARE = 3e-4, 0.05  # measured: 1e-3 harms the ranking
ROLLOUT_AVERAGING_RATE = 0.02
