"""The sparse group LASSO: an exact solver with a proof of its accuracy, its path, and the published 100 steps."""

from baselines.sparse_group_lasso.estimator import SparseGroupLasso
from baselines.sparse_group_lasso.path import SGLPath, sgl_lambda_max, sgl_path

__all__ = ["SGLPath", "SparseGroupLasso", "sgl_lambda_max", "sgl_path"]
