"""The feature-selection methods that the agents are compared with, as scikit-learn classifiers.

Each classifier has ``features_used(X)``, which columns its prediction for each row uses, and ``sparsity_grid(X, y)``,
settings of its own sparsity parameter from no feature used to (nearly) all. ``path(X, y, settings)`` fits one model per
setting, by default those of ``sparsity_grid``. CEGB takes a price ``lam`` instead and has neither grid nor path; the
panel and the learnt stopping take ``lam`` too, and their ``path`` fits one model per price. SVM+ uses all features.

Methods that use the same columns for every row, and GBFS, are feature selectors of scikit-learn as well:
``get_support()``, ``transform(X)``, and the names in ``selected_features_``.
"""

from typing import TYPE_CHECKING

from fsgym.support.lazy import imported_later

if TYPE_CHECKING:
    from baselines.cart import CARTClassifier
    from baselines.cegb import CEGBClassifier
    from baselines.forest import ForestSelectionClassifier
    from baselines.gbfs import GBFSClassifier, GBFSRegressor, gbfs_path
    from baselines.hkl import Booleanizer, DisjunctionClassifier
    from baselines.hsic_lasso import HSICLassoClassifier
    from baselines.l1_logistic import L1LogisticClassifier
    from baselines.l1_svm import L1SVMClassifier
    from baselines.lasso import LassoPathClassifier
    from baselines.lufe import LUFeClassifier, LUFeCV
    from baselines.mrmr import MRMRClassifier
    from baselines.neural import DIMEClassifier, GDFSClassifier
    from baselines.panel import PanelClassifier
    from baselines.reference import ConstantClassifier, EverythingClassifier
    from baselines.regressors import CARTRegressor, CEGBRegressor
    from baselines.sparse_group_lasso import GroupLassoClassifier, SparseGroupLasso, sgl_lambda_max, sgl_path
    from baselines.stopping import StoppingClassifier
    from baselines.svm_plus import SVMPlusClassifier
    from baselines.uncertain import UncertainExpander, UncertainHIKClassifier, UncertainSGLSelector, intersection_kernel
    from baselines.zero_norm_svm import ZeroNormSVMClassifier

__all__ = [
    "Booleanizer",
    "CARTClassifier",
    "CARTRegressor",
    "CEGBClassifier",
    "CEGBRegressor",
    "ConstantClassifier",
    "DIMEClassifier",
    "DisjunctionClassifier",
    "EverythingClassifier",
    "ForestSelectionClassifier",
    "GBFSClassifier",
    "GBFSRegressor",
    "GDFSClassifier",
    "GroupLassoClassifier",
    "HSICLassoClassifier",
    "L1LogisticClassifier",
    "L1SVMClassifier",
    "LUFeCV",
    "LUFeClassifier",
    "LassoPathClassifier",
    "MRMRClassifier",
    "PanelClassifier",
    "SVMPlusClassifier",
    "SparseGroupLasso",
    "StoppingClassifier",
    "UncertainExpander",
    "UncertainHIKClassifier",
    "UncertainSGLSelector",
    "ZeroNormSVMClassifier",
    "gbfs_path",
    "intersection_kernel",
    "sgl_lambda_max",
    "sgl_path",
]

__getattr__, __dir__ = imported_later(
    __name__,
    {
        "baselines.cart": "CARTClassifier",
        "baselines.cegb": "CEGBClassifier",
        "baselines.forest": "ForestSelectionClassifier",
        "baselines.gbfs": "GBFSClassifier GBFSRegressor gbfs_path",
        "baselines.hkl": "Booleanizer DisjunctionClassifier",
        "baselines.hsic_lasso": "HSICLassoClassifier",
        "baselines.l1_logistic": "L1LogisticClassifier",
        "baselines.l1_svm": "L1SVMClassifier",
        "baselines.lasso": "LassoPathClassifier",
        "baselines.lufe": "LUFeClassifier LUFeCV",
        "baselines.mrmr": "MRMRClassifier",
        "baselines.regressors": "CARTRegressor CEGBRegressor",
        "baselines.neural": "DIMEClassifier GDFSClassifier",
        "baselines.panel": "PanelClassifier",
        "baselines.reference": "ConstantClassifier EverythingClassifier",
        "baselines.sparse_group_lasso": "GroupLassoClassifier SparseGroupLasso sgl_lambda_max sgl_path",
        "baselines.stopping": "StoppingClassifier",
        "baselines.svm_plus": "SVMPlusClassifier",
        "baselines.uncertain": "UncertainExpander UncertainHIKClassifier UncertainSGLSelector intersection_kernel",
        "baselines.zero_norm_svm": "ZeroNormSVMClassifier",
    },
)
