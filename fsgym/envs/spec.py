"""The specification of an environment, which says in a sentence what of it cannot be written as JSON."""

from __future__ import annotations

import json
from dataclasses import fields
from typing import Self

from gymnasium.envs.registration import EnvSpec


class JsonSpec(EnvSpec):
    """Gymnasium's specification, with a sentence where ``to_json`` fails."""

    @classmethod
    def of(cls, spec: EnvSpec) -> Self:
        """The same specification."""
        return cls(**{field.name: getattr(spec, field.name) for field in fields(spec) if field.init})

    def __eq__(self, other: object) -> bool:
        return isinstance(other, EnvSpec) and vars(self) == vars(other)  # as what ``EnvSpec.from_json`` makes

    def to_json(self) -> str:
        """The specification as text, for ``EnvSpec.from_json``.

        Raises ValueError where an argument is not plain JSON, such as a ``Dataset``.
        """
        for name, value in self.kwargs.items():
            try:
                json.dumps(value)
            except (TypeError, ValueError):
                from fsgym.data.dataset import Dataset

                given = repr(value) if isinstance(value, Dataset) else f"a {type(value).__name__}"
                remedy = 'dataset="wine" or the name of another one' if name == "dataset" else "numbers and text alone"
                raise ValueError(
                    f"an environment that to_json can write must have arguments in plain JSON, got {given} as {name}; "
                    f"pass {remedy}"
                ) from None
        return super().to_json()


class HasJsonSpec:
    """An environment whose ``spec``, which ``gymnasium.make`` sets, is a ``JsonSpec``."""

    _spec: JsonSpec | None = None

    @property
    def spec(self) -> EnvSpec | None:
        """What the environment was made from, or None."""
        return self._spec

    @spec.setter
    def spec(self, spec: EnvSpec | None) -> None:
        self._spec = None if spec is None else JsonSpec.of(spec)
