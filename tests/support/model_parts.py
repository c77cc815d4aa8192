"""A model file in its parts, which can be changed one by one and need not fit each other."""

from __future__ import annotations

import json
import struct
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from agents.model_file import MODEL_FORMAT

WORDS = {"F": "float", "I": "int", "U": "uint"}
NUMBERS = ("F64", "F32", "F16", "I64", "I32", "I16", "I8", "U64", "U32", "U16", "U8")
DTYPES: dict[str, Any] = {name: np.dtype(WORDS[name[0]] + name[1:]).type for name in NUMBERS} | {"BOOL": np.bool_}
NAME_OF = {np.dtype(dtype): name for name, dtype in DTYPES.items()}


class Tensor(NamedTuple):
    """An entry of the container as it says: the bytes need not fit the shape."""

    dtype: str
    shape: list[int]
    data: bytes

    @classmethod
    def of(cls, array: np.ndarray) -> Tensor:
        return cls(NAME_OF[array.dtype], list(array.shape), np.ascontiguousarray(array).tobytes())

    def array(self) -> np.ndarray | None:
        """A copy as an array; None where the entry does not fit its bytes."""
        dtype = np.dtype(DTYPES[self.dtype]) if self.dtype in DTYPES else None
        if dtype is None or not all(0 <= n < 2**40 for n in self.shape) or len(self.shape) > 30:
            return None
        if int(np.prod(self.shape, dtype=object)) * dtype.itemsize != len(self.data):
            return None
        return np.frombuffer(self.data, dtype).reshape(self.shape).copy()


class ModelParts(NamedTuple):
    """A model file in parts: tensors by name, the JSON header with the rules in it as JSON, and last changes.

    ``of_text`` change the text of the JSON header, ``of_bytes`` the whole file.
    """

    tensors: dict[str, Tensor]
    header: dict[str, Any]
    of_text: list[Callable[[str], str]]
    of_bytes: list[Callable[[bytes], bytes]]
    offsets: dict[str, list[int]]
    form: str = MODEL_FORMAT  # or the newer one

    @classmethod
    def of(cls, data: bytes) -> ModelParts:
        length = struct.unpack("<Q", data[:8])[0]
        entries, body = json.loads(data[8 : 8 + length]), data[8 + length :]
        [(form, text)] = entries.pop("__metadata__").items()
        header = json.loads(text)
        header["rules"] = json.loads(header["rules"])
        tensors = {k: Tensor(v["dtype"], v["shape"], body[slice(*v["data_offsets"])]) for k, v in entries.items()}
        return cls(tensors, header, [], [], {}, form)

    def copy(self) -> ModelParts:
        return ModelParts(dict(self.tensors), json.loads(json.dumps(self.header)), [], [], {}, self.form)

    def to_bytes(self) -> bytes:
        header = dict(self.header)
        if "rules" in header and not isinstance(header["rules"], str):
            header["rules"] = json.dumps(header["rules"])
        text = json.dumps(header)
        for change in self.of_text:
            text = change(text)
        entries: dict[str, Any] = {"__metadata__": {self.form: text}}
        body, begin = [], 0
        for name, tensor in sorted(self.tensors.items(), key=lambda item: -_alignment(item[1].dtype)):
            end = begin + len(tensor.data)
            offsets = self.offsets.get(name, [begin, end])
            entries[name] = {"dtype": tensor.dtype, "shape": tensor.shape, "data_offsets": offsets}
            body.append(tensor.data)
            begin = end
        head = json.dumps(entries).encode()
        head += b" " * (-len(head) % 8)
        data = struct.pack("<Q", len(head)) + head + b"".join(body)
        for change_bytes in self.of_bytes:
            data = change_bytes(data)
        return data


def _alignment(dtype: str) -> int:
    return np.dtype(DTYPES.get(dtype, np.uint8)).itemsize
