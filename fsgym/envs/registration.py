"""Environments by id, for ``gymnasium.make``; ``ids`` has the ids of this project."""

from __future__ import annotations

import inspect
import os
import re
from collections.abc import Callable
from functools import lru_cache, wraps
from typing import Any, Literal, TypeVar, Unpack

import gymnasium as gym
from gymnasium.vector import AutoresetMode

from fsgym.data.dataset import Dataset
from fsgym.data.grids import blocks, contiguous
from fsgym.envs.env import DatumWiseEnv
from fsgym.envs.ids import register_id
from fsgym.envs.vector_env import DatumWiseVectorEnv
from fsgym.rules import Rules
from fsgym.rules.options import RuleOptions, takes_rule_options
from fsgym.text.messages import brief, explain_unknown

MakeFunction = TypeVar("MakeFunction", bound=Callable[..., Any])
GYMNASIUM_ARGUMENTS = ("max_episode_steps", "disable_env_checker")  # of ``gymnasium.make`` itself


def names_unknown_arguments(function: MakeFunction) -> MakeFunction:
    """Decorator: an argument that ``gymnasium.make`` passes on but the function does not take raises ValueError.

    Not TypeError, to which Gymnasium adds all arguments, with whole data sets among them.
    """
    known = inspect.signature(function).parameters

    @wraps(function)
    def checked(*args: Any, **given: Any) -> Any:
        unknown = [name for name in given if name not in known]
        if unknown:
            from fsgym.data.reading.reading import Reading

            names = [name for name in known if name != "num_envs"]
            if unknown[0] in Reading._fields:
                raise ValueError(
                    f"unknown environment argument {unknown[0]!r}; it is one of fsgym.load_dataset: pass "
                    f"dataset=fsgym.load_dataset(..., {unknown[0]}=...)"
                )
            if unknown[0] in GYMNASIUM_ARGUMENTS:  # of which ``gymnasium.make`` passes none on
                raise ValueError(
                    f"{unknown[0]} is an argument of gymnasium.make, and no vector environment here takes it; leave it "
                    'out (episodes end by themselves), or copy the single environment by vectorization_mode="sync"'
                )
            if unknown[0] == "autoreset_mode":  # a single environment has none
                raise ValueError(
                    "autoreset_mode is an argument of the native vector environment of gymnasium.make_vec; leave it "
                    'out of gymnasium.make, and with vectorization_mode="sync" or "async" pass '
                    'vector_kwargs={"autoreset_mode": gymnasium.vector.AutoresetMode.SAME_STEP}'
                )
            raise ValueError(explain_unknown("environment argument", unknown[0], [*names, *GYMNASIUM_ARGUMENTS]))
        return function(*args, **given)

    return checked  # type: ignore[return-value]


@names_unknown_arguments
@takes_rule_options
def make_env(
    dataset: str | Dataset = "breast_cancer",
    split: Literal["train", "test", "all"] | None = None,
    block: tuple[int, int] | None = None,
    render_mode: str | None = None,
    illegal_action: Literal["forfeit", "raise"] = "forfeit",
    belief: Any = None,
    **options: Unpack[RuleOptions],
) -> DatumWiseEnv:
    """The environment of ``gymnasium.make("fsgym:DatumWise-v0", ...)``: data by name, rules by options.

    Parameters
    ----------
    dataset : str or Dataset
        A named data set is loaded and scaled to [-1, 1] by its training part; a ``Dataset`` is used unchanged.
    split : {"train", "test", "all"}, default "train"
        The part of a named data set. A ``Dataset`` is a part already: divide one with ``Dataset.split``.
    block : (int, int), optional
        For images: each acquisition reveals a block of this many pixels (height, width). If ``unrelated_costs`` are
        given, adjacent blocks are related.
    render_mode, illegal_action, belief
        As in ``DatumWiseEnv``.
    **options
        As in ``Rules``.

    Raises
    ------
    ValueError, TypeError
        If an argument is unknown or invalid. An unknown one is named with the closest known name.

    Examples
    --------
    >>> import fsgym, gymnasium
    >>> gymnasium.make("fsgym:DatumWise-v0", lamb=0.1)
    Traceback (most recent call last):
    ValueError: unknown environment argument 'lamb'; did you mean 'lam'?
    """
    data, rules = _data_and_rules(dataset, split, block, options)
    return DatumWiseEnv(data, rules, render_mode=render_mode, illegal_action=illegal_action, belief=belief)


make_env.metadata = DatumWiseEnv.metadata  # type: ignore[attr-defined]  # by which Gymnasium knows the render modes


@names_unknown_arguments
@takes_rule_options
def make_vector_env(
    num_envs: int = 1,
    dataset: str | Dataset = "breast_cancer",
    split: Literal["train", "test", "all"] | None = None,
    block: tuple[int, int] | None = None,
    render_mode: str | None = None,
    illegal_action: Literal["forfeit", "raise"] = "forfeit",
    autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP,
    belief: Any = None,
    copy: bool = True,
    **options: Unpack[RuleOptions],
) -> DatumWiseVectorEnv:
    """The environment of ``gymnasium.make_vec``; parameters as in ``make_env`` and ``DatumWiseVectorEnv``.

    Examples
    --------
    >>> envs = make_vector_env(3, "wine", lam=0.02)
    >>> observations, infos = envs.reset(seed=0)
    >>> observations.shape, infos["action_mask"].shape
    ((3, 26), (3, 16))
    """
    data, rules = _data_and_rules(dataset, split, block, options)
    return DatumWiseVectorEnv(
        data,
        rules,
        num_envs,
        autoreset_mode=autoreset_mode,
        render_mode=render_mode,
        illegal_action=illegal_action,
        belief=belief,
        copy=copy,
    )


def _data_and_rules(
    dataset: str | Dataset, split: str | None, block: tuple[int, int] | None, options: RuleOptions
) -> tuple[Dataset, Rules]:
    if isinstance(dataset, Dataset):
        if split not in (None, "all"):
            raise ValueError(
                f"split must be left out where dataset is a Dataset, whose rows are all used, got {brief(split)}; pass "
                "one of the parts that dataset.split(0.7, seed=0) returns"
            )
        data = dataset
    else:
        if not isinstance(dataset, str | os.PathLike):
            raise ValueError(_explain_dataset(dataset))  # not TypeError: see ``names_unknown_arguments``
        part = "train" if split is None else split
        is_file = os.path.exists(dataset)  # which may be another one the next time
        data = _load_scaled(dataset, part) if is_file else _load_named(dataset, part, os.environ.get("FSGYM_DATA"))
    if block is not None:
        if options.get("groups") is not None:
            raise ValueError("block and groups both say what is acquired together; leave one out, or pass block=None")
        if data.image_shape is None:
            raise ValueError(f"block needs images, but {data.name!r} has no image_shape; use groups instead")
        options = {**options, "groups": blocks(data.image_shape, block)}
        if options.get("unrelated_costs") is not None and options.get("related") is None:
            height, width = data.image_shape
            options["related"] = contiguous(height // block[0], width // block[1])
    return data, Rules.for_dataset(data, **options)


def _explain_dataset(dataset: Any) -> str:
    """The message for what is neither a name nor a data set; without its values, which may be a whole table."""
    return (
        f"dataset must be a name or a fsgym.Dataset, got {type(dataset).__name__}; make one by "
        "fsgym.load_dataset(frame, target=...) from a DataFrame, or by fsgym.Dataset(X, y)"
    )


def _load_scaled(name: str | os.PathLike[str], split: str) -> Dataset:
    from fsgym.datasets import load_dataset

    return load_dataset(name, split).scaled(load_dataset(name, "train"))


@lru_cache(maxsize=8)
def _load_named(name: str, split: str, data_dir: str | None) -> Dataset:
    return _load_scaled(name, split)


@takes_rule_options
def register_variant(
    id: str,
    *,
    dataset: str | os.PathLike[str] | Dataset = "breast_cancer",
    block: tuple[int, int] | None = None,
    **options: Unpack[RuleOptions],
) -> None:
    """Register data and rules of your own under an id for ``gymnasium.make`` and ``make_vec``.

    Both single and vectorised environments can be made, with the same arguments as for the ids of this project.

    Parameters
    ----------
    id : str
        A Gymnasium id with a version: ``"Patients-v0"``, ``"clinic/Patients-v1"``.
    dataset : str or Dataset, default "breast_cancer"
        A named data set is loaded when an environment is made, and scaled to [-1, 1] by its training part; a
        ``Dataset`` is used unchanged.
    block : (int, int), optional
        As in ``make_env``.
    **options
        As in ``Rules``.

    Raises
    ------
    ValueError, TypeError
        If the id is taken or malformed, or the options do not fit a given ``Dataset``.

    Examples
    --------
    >>> import fsgym, gymnasium
    >>> tiny = fsgym.Dataset([[0.0, 1.0], [1.0, 0.0]], ["no", "yes"], name="tiny")
    >>> fsgym.register_variant("Tiny-v0", dataset=tiny, lam=0.1, budget=1)
    >>> gymnasium.make("Tiny-v0").unwrapped.rules
    Rules(2 acquisitions, 2 classes, lam=0.1, budget=1)
    >>> gymnasium.make_vec("Tiny-v0", num_envs=2).unwrapped.num_envs
    2
    """
    if not isinstance(id, str) or not re.fullmatch(r"(?:[\w:-]+/)?[\w:.-]+-v\d+", id):
        raise ValueError(f"id must be a name with a version, such as 'Patients-v0', got {brief(id)}")
    if id in gym.registry:
        raise ValueError(f"the id {id!r} is registered already; choose another name or version")
    if isinstance(dataset, Dataset):
        _data_and_rules(dataset, "all", block, options)
    elif not isinstance(dataset, str | os.PathLike):
        raise TypeError(_explain_dataset(dataset))
    register_id(id, {"dataset": dataset, "block": block, **options})
