"""The methods that are compared by name."""

from fsgym.methods.registry import (
    CONSTANT,
    DEFAULT_AGENT,
    DEFAULT_METHODS,
    OWN_PACKAGES,
    PANEL,
    REFERENCES,
    check_estimator_class,
    class_of,
    find_method,
    load_class,
    method_names,
    methods_table,
    model_kind_of,
    register_method,
    supported_options,
)
from fsgym.methods.table import METHODS, Method

__all__ = [
    "CONSTANT",
    "DEFAULT_AGENT",
    "DEFAULT_METHODS",
    "METHODS",
    "OWN_PACKAGES",
    "PANEL",
    "REFERENCES",
    "Method",
    "check_estimator_class",
    "class_of",
    "find_method",
    "load_class",
    "method_names",
    "methods_table",
    "model_kind_of",
    "register_method",
    "supported_options",
]
