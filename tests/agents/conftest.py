"""A good model file."""

from __future__ import annotations

import pytest

from agents import model_file
from support.model_files import agent_of


@pytest.fixture
def file(tmp_path):
    """A good file: (path, bytes, header as a dict, arrays)."""
    path = tmp_path / "model.safetensors"
    agent_of().save(path)
    arrays, header = model_file.read(path, "linear")
    return path, path.read_bytes(), {"kind": "linear", **header}, arrays
