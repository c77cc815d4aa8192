"""The changed model files of one seed, by number, and the attempt to load and use one of them."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np

from support.model_parts import ModelParts
from support.mutated_model_files import mutated
from support.mutation_trials import refusal_of
from support.small_model_files import is_agent, load_any
from support.use_of_models import use_model


class ChangedFiles:
    """Changed copies of small models; file ``index`` follows from the seed and the index alone.

    Parameters
    ----------
    paths : dict name -> Path, the unchanged models; see ``small_model_files``
    scratch : Path, folder for one changed file a process
    seed : int
    """

    def __init__(self, paths: dict[str, Path], scratch: Path, seed: int) -> None:
        self.paths, self.names, self.scratch, self.seed = paths, list(paths), scratch, seed
        self.parts = [ModelParts.of(path.read_bytes()) for path in self.paths.values()]

    def model_of(self, index: int) -> str:
        """The name of the model that file ``index`` is a changed copy of."""
        return self.names[self._which(index)]

    def kind_of(self, index: int) -> str:
        """The kind of that model, or "agent" for one without labels."""
        name = self.model_of(index)
        return "agent" if is_agent(name) else self.parts[self._which(index)].header["kind"]

    def changed(self, index: int) -> tuple[bytes, str]:
        """The bytes of file ``index``, and in words what was changed."""
        return mutated(self.parts, self._which(index), np.random.default_rng([self.seed, index]))

    def attempt(self, index: int) -> int:
        """Load and use the file; its size, or the errors of ``mutation_trials.run_trials``."""
        data, path = self.changed(index)[0], self.scratch / f"changed-{os.getpid()}"
        path.write_bytes(data)
        try:
            model = self.load(self.model_of(index), path)
        except (ValueError, OSError) as error:
            raise refusal_of(error, len(data)) from None
        use_model(model, index)
        return len(data)

    @staticmethod
    def load(name: str, path: Path) -> Any:
        """The model of a file that was made of the model ``name``."""
        return load_any(path, is_agent(name))

    def warm_up(self) -> None:
        """Use each model as it is, so that everything is imported and compiled."""
        for k, (name, path) in enumerate(self.paths.items()):
            model = self.load(name, path)
            for seed in (6 * k, 6 * k + 1):
                use_model(model, seed)

    def _which(self, index: int) -> int:
        return int(np.random.default_rng([self.seed, index, 1]).integers(len(self.names)))
