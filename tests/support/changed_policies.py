"""Changed exported policies of one seed, by number, and the attempts to ask them with both interpreters."""

from __future__ import annotations

import base64
import json
import select
import subprocess
from pathlib import Path
from typing import Any

import numpy as np

from support.exported_policies import NODE, SCRIPTS, import_document
from support.model_parts import ModelParts, Tensor
from support.mutated_model_files import mutated_parts
from support.mutation_trials import MEMORY, MEMORY_PER_BYTE, SECONDS, TrialRefused, bytes_of
from support.small_model_files import is_agent, load_any

NAMES = {"F64": "float64", "F32": "float32", "I32": "int32", "I16": "int16", "U8": "uint8"}
POLICIES_PER_NODE = 200  # by one process of Node, whose garbage would count as memory of later ones
DTYPES = {name: short for short, name in NAMES.items()}


class ChangedPolicies:
    """As ``ChangedFiles``, for the JSON of exported policies."""

    def __init__(self, paths: dict[str, Path], seed: int) -> None:
        loaded = {name: load_any(path, False) for name, path in paths.items() if not is_agent(name)}
        self.names, self.seed = list(loaded), seed
        self.parts = [parts_of_policy(json.loads(model.policy_json())) for model in loaded.values()]
        self._node: subprocess.Popen | None = None
        self._first_use = self._n_asked = 0

    def model_of(self, index: int) -> str:
        """The name of the model that policy ``index`` is a changed copy of."""
        return self.names[self._which(index)]

    def kind_of(self, index: int) -> str:
        """The kind of policy."""
        return self.parts[self._which(index)].header["kind"]

    def changed(self, index: int) -> tuple[bytes, str]:
        """The text of policy ``index`` in UTF-8, and in words what was changed."""
        parts, what = mutated_parts(self.parts, self._which(index), np.random.default_rng([self.seed, index]))
        return text_of_policy(parts).encode("utf-8", "replace"), what

    def attempt(self, index: int) -> int:
        """Ask the policy with both interpreters, of which any error is a refusal."""
        data = self.changed(index)[0]
        said = [self.ask_node(data) if NODE else "used", ask_reference(data.decode())]
        refusals = [text for text in said if text != "used"]
        if refusals:
            raise TrialRefused(len(data), "; ".join(refusals))
        return len(data)

    def warm_up(self) -> None:
        """Ask each policy as it is."""
        for parts in self.parts:
            text = text_of_policy(parts)
            assert ask_reference(text) == "used"
            if NODE:
                said = self.ask_node(text.encode())
                assert said == "used", said
        self.stop_node()

    def _which(self, index: int) -> int:
        return int(np.random.default_rng([self.seed, index, 1]).integers(len(self.names)))

    def stop_node(self) -> None:
        if self._node is not None:
            self._node.kill()
            self._node.communicate()
            self._node = None

    def ask_node(self, data: bytes) -> str:
        if self._node is not None and self._n_asked >= POLICIES_PER_NODE:
            self.stop_node()
        if self._node is None:
            script = str(Path(__file__).with_name("ask_changed.js"))
            arguments = [NODE or "node", script, str(SCRIPTS)]
            self._node = subprocess.Popen(
                arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
            )
            self._first_use, self._n_asked = 0, 0
        node, self._n_asked = self._node, self._n_asked + 1
        assert node.stdin is not None
        assert node.stdout is not None
        node.stdin.write(data.replace(b"\n", b" ") + b"\n")
        node.stdin.flush()
        ready = select.select([node.stdout], [], [], SECONDS - 1)[0]
        said = node.stdout.readline().decode().strip() if ready else ""
        peak = bytes_of("VmHWM", node.pid) if said else 0
        self._first_use = self._first_use or peak
        if not said or peak > self._first_use + MEMORY_PER_BYTE * len(data) + MEMORY:
            self.stop_node()
            raise AssertionError(f"Node: {'memory' if said else 'its end' if ready else 'no reply'}")
        return said


def ask_reference(text: str) -> str:
    reference, others = (import_document(name) for name in ("interpret_policy", "interpret_other_policies"))
    try:
        with np.errstate(all="ignore"):
            policy = reference.read_policy(text, others.KINDS)
            one = reference.Case(policy)
            for _ in range(len(policy.acquisitions) + 2):
                question = one.step()["question"]
                if question is None:
                    return "used"
                one.acquire(question, {})
    except MemoryError:
        raise
    except Exception as error:  # what a reader sees
        return f"{type(error).__name__}: {str(error)[:100]}"
    raise AssertionError("endless questions")


def parts_of_policy(plain: dict[str, Any]) -> ModelParts:
    arrays = plain.pop("arrays")
    tensors = {k: Tensor(DTYPES[v["dtype"]], v["shape"], base64.b64decode(v["base64"])) for k, v in arrays.items()}
    return ModelParts(tensors, plain, [], [], {})


def text_of_policy(parts: ModelParts) -> str:
    arrays = {
        name: {"dtype": NAMES.get(t.dtype, "int64"), "shape": t.shape, "base64": base64.b64encode(t.data).decode()}
        for name, t in parts.tensors.items()
    }
    text = json.dumps(parts.header | {"arrays": arrays})
    for change in parts.of_text:
        text = change(text)
    return text
