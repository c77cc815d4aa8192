"""The changed model files of one seed, by number, and the attempt to load and use one of them."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np

from support.mutated_model_files import ModelParts, mutated
from support.mutation_trials import refusal_of
from support.small_model_files import load_any, write_small_models
from support.use_of_models import use_model


class ChangedFiles:
    """Changed copies of small models; file ``index`` follows from the seed and the index alone.

    Parameters
    ----------
    models : Path, folder of the unchanged models; those that are missing are fitted
    scratch : Path, folder for one changed file a process
    seed : int
    every_variant : bool, whether to take models under more rules
    """

    def __init__(self, models: Path, scratch: Path, seed: int, every_variant: bool) -> None:
        models.mkdir(parents=True, exist_ok=True)
        self.paths = write_small_models(models, every_variant)
        self.names, self.scratch, self.seed = list(self.paths), scratch, seed
        self.parts = [ModelParts.of(path.read_bytes()) for path in self.paths.values()]

    def model_of(self, index: int) -> str:
        """The name of the model that file ``index`` is a changed copy of."""
        return self.names[self._which(index)]

    def kind_of(self, index: int) -> str:
        """The kind of that model, or "agent" for one without labels."""
        name = self.model_of(index)
        return "agent" if name.startswith("agent,") else self.parts[self._which(index)].header["kind"]

    def changed(self, index: int) -> tuple[bytes, str]:
        """The bytes of file ``index``, and in words what was changed."""
        return mutated(self.parts, self._which(index), np.random.default_rng([self.seed, index]))

    def attempt(self, index: int) -> int:
        """Load and use the file; its size, or the errors of ``mutation_trials.run_trials``."""
        data, path = self.changed(index)[0], self.scratch / f"changed-{os.getpid()}"
        path.write_bytes(data)
        try:
            model = load_any(path, self.model_of(index).startswith("agent,"))
        except (ValueError, OSError) as error:
            raise refusal_of(error, len(data)) from None
        use_model(model, index)
        return len(data)

    def warm_up(self) -> None:
        """Use each model as it is, so that everything is imported and compiled."""
        for k, (name, path) in enumerate(self.paths.items()):
            model = load_any(path, name.startswith("agent,"))
            for seed in (6 * k, 6 * k + 1):
                use_model(model, seed)

    def _which(self, index: int) -> int:
        return int(np.random.default_rng([self.seed, index, 1]).integers(len(self.names)))
