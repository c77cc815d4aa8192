"""Labels of the figures of an ``Evaluation``, the same in tables, HTML and pictures."""

FIGURE_LABELS = {
    "accuracy": "accuracy",
    "balanced_accuracy": "balanced accuracy",
    "n_features": "mean features used",
    "n_acquisitions": "mean acquisitions",
    "spent": "mean price paid",
    "error_cost": "mean error cost",
    "loss": "loss",
}
# Of the figures that a short table leaves out.
OTHER_FIGURE_LABELS = {
    "sparsity": "sparsity (mean share of features not used)",
    "acquisition_cost": "lambda times mean price paid",
    "admissible": "share of rows that respect the rules",
    "illegal": "share of rows forfeited by an illegal action",
}
