"""The sentence for an extra that is missing has a command that works where fsgym is installed."""

import pytest

from fsgym.support import extras


@pytest.mark.parametrize(
    ("is_clone", "command"),
    [(True, 'in the clone, pip install -c constraints.txt -e ".[cegb]"'), (False, "pip install 'fsgym[cegb]'")],
)
def test_the_command_of_a_clone_and_of_a_wheel(is_clone, command, tmp_path, monkeypatch):
    if is_clone:
        (tmp_path / "constraints.txt").touch()
    monkeypatch.setattr(extras, "PACKAGES_FOLDER", tmp_path)
    monkeypatch.setattr(extras, "find_spec", lambda name: None)
    with pytest.raises(ImportError) as caught:
        extras.require("cegb", "this")
    assert str(caught.value) == f"this needs lightgbm: {command}"
