"""A limit that several agents have."""

# Largest loss of one episode, in units of ``error_costs``. Returns are single precision, where sums of squares must
# not overflow (3e38), and the scores of RCPI must stay far above that of an excluded action (-1e30).
MAX_LOSS = 1e9
