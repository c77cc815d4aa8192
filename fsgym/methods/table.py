"""The methods that this distribution has, by name. A new one is an entry in ``METHODS``, in any place."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple


class Method(NamedTuple):
    """A method that can be compared by name.

    Attributes
    ----------
    title : str, its name in figures and tables
    estimator : str or class
        ``"module:Class"``, imported when the method is used, or the class itself.
    prices : bool
        True: it takes prices into account in training. It is trained at several values of its parameter ``lam``, and
        receives those options of ``Rules`` for which it has parameters. It does not know the other options, so it may
        violate them (be inadmissible). False: its class provides its settings with
        ``sparsity_grid(X, y) -> list of dict``. It receives the same options of ``Rules``, but for ``lam`` and
        ``groups``; without a parameter ``costs`` it ignores prices.
    reference : str, its authors and year
    adaptive : bool, whether the features that it uses depend on the values of the case
    uses : str, which features it uses, in a few words
    preset : mapping, parameters of its class that define this method
    extra : str, the optional dependencies that it needs, a key of ``fsgym.support.extras.EXTRAS``; "" for none
    kind : str, the kind of the model files that its class writes with ``save``; "" if it writes none
    reading : str
        Which reading of its source it is, where the table has several; "" where there is one.
    regressor : str
        ``"module:Class"``, which takes the place of ``estimator`` where the target is a number; "" if the method
        classifies bins of it. Its parameter ``loss`` is "absolute" or "squared".
    groups : bool
        True: it has ``sparsity_grid`` and selects features by group: it receives the ``groups`` of ``Rules``.

    Examples
    --------
    >>> from fsgym.methods import find_method
    >>> find_method("cart").title, find_method("cart").prices
    ('CART', False)
    """

    title: str
    estimator: str | type
    prices: bool
    reference: str = ""
    adaptive: bool = False
    uses: str = ""
    preset: Mapping[str, Any] = MappingProxyType({})
    extra: str = ""
    kind: str = ""
    reading: str = ""
    groups: bool = False
    regressor: str = ""


METHODS: dict[str, Method] = {
    "adaptive": Method(
        "Adaptive agent",
        "agents:AdaptiveClassifier",
        True,
        "",
        True,
        "the features that its policy acquires; the lattice, the mixture or the network, chosen out of fold",
        kind="adaptive",
    ),
    "lattice": Method(
        "Lattice policy iteration",
        "agents:LatticeClassifier",
        True,
        "after Dulac-Arnold, Denoyer, Preux and Gallinari (2012)",
        True,
        "the features that its policy acquires",
        kind="lattice",
    ),
    "mixture": Method(
        "Mixture policy",
        "agents:MixtureClassifier",
        True,
        "after Longstaff and Schwartz (2001)",
        True,
        "the features that its policy acquires",
        kind="mixture",
    ),
    "network": Method(
        "Network policy",
        "agents:AnyStateNetworkClassifier",
        True,
        "after Longstaff and Schwartz (2001)",
        True,
        "the features that its policy acquires",
        kind="any_network",
    ),
    "rcpi": Method(
        "RCPI (datum-wise)",
        "agents:DatumWiseClassifier",
        True,
        "Dulac-Arnold, Denoyer, Preux and Gallinari (2012)",
        True,
        "the features that its linear policy acquires",
        kind="linear",
        reading="the defaults of this library, with states of the previous policies and uniform ones, a policy drawn "
        "from the mixture at each decision, answers by logistic regression, scores of acquisitions that take a step in "
        "each iteration, and of ten iterations the policy with the lowest training loss",
    ),
    "rcpi_printed": Method(
        "RCPI as printed",
        "agents:DatumWiseClassifier",
        True,
        "Dulac-Arnold, Denoyer, Preux and Gallinari (2012)",
        True,
        "the features that its linear policy acquires",
        {
            "answers": "linear",
            "acquisitions": "linear",
            "states": "uniform",
            "mixture": "decision",
            "start": "uniform",
            "intercept": True,
            "ridge": 1e-6,
            "select": "last",
            "uninformative": "keep",
            "n_iterations": 10,
        },
        kind="linear",
        reading="a reading of its paper with uniform states, a policy drawn from the mixture at each decision, least "
        "squares with a constant term, and the policy of the last of ten iterations",
    ),
    "l1_svm": Method(
        "L1-SVM",
        "baselines:L1SVMClassifier",
        False,
        "Fan, Chang, Hsieh, Wang and Lin (2008), LIBLINEAR",
        uses="the features with a non-zero weight",
    ),
    "zero_norm_svm": Method(
        "Zero-norm SVM",
        "baselines:ZeroNormSVMClassifier",
        False,
        "Weston, Elisseeff, Schölkopf and Tipping (2003)",
        uses="the features that remain after repeatedly scaling by the weights of a linear SVM",
    ),
    "lars": Method(
        "LARS / lasso path",
        "baselines:LassoPathClassifier",
        False,
        "Efron, Hastie, Johnstone and Tibshirani (2004)",
        uses="the features with a non-zero weight",
    ),
    "cart": Method(
        "CART",
        "baselines:CARTClassifier",
        False,
        "Breiman, Friedman, Olshen and Stone (1984)",
        True,
        "the features on the case's path through a pruned tree",
        regressor="baselines:CARTRegressor",
    ),
    "cegb": Method(
        "CEGB (LightGBM)",
        "baselines:CEGBClassifier",
        True,
        "Peter, Diego, Hamprecht and Nadler (2017)",
        True,
        "the features on the case's paths through LightGBM's trees, trained with a price per acquired value",
        extra="cegb",
        regressor="baselines:CEGBRegressor",
    ),
    "maskable_ppo": Method(
        "MaskablePPO",
        "agents:SB3Classifier",
        True,
        "Huang and Ontañón (2022)",
        True,
        "the features that its policy network acquires",
        {"algorithm": "maskable_ppo"},
        "rl",
        "network",
    ),
    "dqn": Method(
        "Masked DQN",
        "agents:SB3Classifier",
        True,
        "Mnih et al. (2015), van Hasselt, Guez and Silver (2016)",
        True,
        "the features that its network acquires; deep Q-learning restricted to legal actions",
        {"algorithm": "dqn"},
        "rl",
        "network",
    ),
    "gbfs": Method(
        "GBFS",
        "baselines:GBFSClassifier",
        False,
        "Xu, Huang, Weinberger and Zheng (2014)",
        True,
        "the features on the case's paths through boosted trees; training penalises the first use of each feature",
    ),
    "lufe": Method(
        "LUFe",
        "baselines:LUFeClassifier",
        False,
        "Taylor, Sharmanska, Kersting, Weir and Quadrianto (2016)",
        uses="the selected features; the others are used in training only",
    ),
    "uncertain_sgl": Method(
        "Uncertain SGL + HIK-SVM",
        "baselines:UncertainHIKClassifier",
        False,
        "Xie and Xu (2013)",
        uses="the features of which at least one random draw around the value is selected",
    ),
    "hkl": Method(
        "HKL disjunctions",
        "baselines:DisjunctionClassifier",
        False,
        "Bach (2009); Jawanpuria, Nath and Ramakrishnan (2015)",
        uses="the features in the selected rules",
    ),
    "l1_logistic": Method(
        "L1 logistic regression",
        "baselines:L1LogisticClassifier",
        False,
        "Lee, Lee, Abbeel and Ng (2006)",
        uses="the features with a non-zero weight",
    ),
    "group_lasso": Method(
        "Group LASSO logistic",
        "baselines:GroupLassoClassifier",
        False,
        "Meier, van de Geer and Bühlmann (2008)",
        uses="the groups of features with non-zero weights",
        groups=True,
    ),
    "forest": Method(
        "Random forest selection",
        "baselines:ForestSelectionClassifier",
        False,
        "Breiman (2001)",
        uses="the features that a random forest ranks as most important",
    ),
    "mrmr": Method(
        "mRMR + SVM",
        "baselines:MRMRClassifier",
        False,
        "Peng, Long and Ding (2005)",
        uses="the features selected by mutual information",
    ),
    "hsic_lasso": Method(
        "HSIC Lasso + SVM",
        "baselines:HSICLassoClassifier",
        False,
        "Yamada, Jitkrittum, Sigal, Xing and Sugiyama (2014)",
        uses="the features whose kernels enter the lasso path first",
    ),
    "gdfs": Method(
        "GDFS",
        "baselines:GDFSClassifier",
        True,
        "Covert, Qiu, Lu, Kim, White and Lee (2023)",
        True,
        "the features that its policy network chooses, trained through a relaxation of the choice",
        extra="deep",
        kind="gdfs",
    ),
    "dime": Method(
        "DIME",
        "baselines:DIMEClassifier",
        True,
        "Gadgil, Covert and Lee (2024)",
        True,
        "the features of most estimated information per price, by its value network",
        extra="deep",
        kind="dime",
    ),
    "panel": Method(
        "Fixed panel",
        "baselines:PanelClassifier",
        True,
        "forward selection; Guyon and Elisseeff (2003)",
        uses="one set of acquisitions for all cases, selected by validated loss",
    ),
    "stopping": Method(
        "Learnt stopping",
        "baselines:StoppingClassifier",
        True,
        "after Longstaff and Schwartz (2001)",
        True,
        "the first acquisitions in the order of the panel, until a learnt rule stops",
    ),
    "constant": Method(
        "Constant answer",
        "baselines:ConstantClassifier",
        False,
        uses="none: the answer of least expected cost",
    ),
    "everything": Method(
        "All features",
        "baselines:EverythingClassifier",
        False,
        "logistic regression; random forest, Breiman (2001)",
        uses="all features, with a logistic regression or a random forest",
    ),
    "sparse_group_lasso": Method(
        "Sparse group LASSO",
        "baselines:GroupLassoClassifier",
        False,
        "Simon, Friedman, Hastie and Tibshirani (2013)",
        uses="the features with non-zero weights, from some of the groups",
        preset={"tau": 0.5},
        groups=True,
    ),
}
