"""Files that commands are given and cannot use: pipes, damaged tables, archives that are huge when unpacked."""

from __future__ import annotations

import gzip
import io
import json
import os
import zipfile
from pathlib import Path

import numpy as np

LONG = "v" * 10_000
FILE_NAMES = """
folder folder.csv folder.json pipe pipe.csv pipe.json full full.csv null null.json empty empty.csv empty.json
empty.csv.gz empty.npz empty.fsgym loop.csv closed/x.csv list.json number.json deep.json twice.json half.json
latin.json null_names.json huge.json groups.json units.json pairs.json errors.json prices.csv prices.json
matrix.csv odd.csv half.csv half.csv.gz bomb.csv.gz latin.csv zero_byte.csv one_class.csv four_rows.csv
escape.csv repeated.csv header.csv labelled.csv new.csv text.csv half.npz bomb.npz claims.npz objects.npz
plain.npz half.fsgym model.fsgym text.fsgym absent.csv absent.json manifest_list manifest_number manifest_names
with_pipe
"""
FILES = (*FILE_NAMES.split(), "\udcff.csv", "esc\x1b[31m.csv")


def write_grounds(folder: Path, model: Path) -> None:
    """Write the files that the commands name, where they are not as they were; ``model`` is a model file."""
    table = (model.parent / "new.csv").read_text()
    header, *rows = table.splitlines()
    labelled = [f"{header},ill", *(f"{row},{'yes' if k % 3 else 'no'}" for k, row in enumerate(rows))]
    plain = "\n".join(labelled) + "\n"
    texts: dict[str, str | bytes] = {
        **dict.fromkeys(("empty", "empty.csv", "empty.json", "empty.csv.gz", "empty.npz", "empty.fsgym"), ""),
        **dict.fromkeys(("labelled.csv", "\udcff.csv", "esc\x1b[31m.csv"), plain),
        **{"new.csv": table, "text.csv": "words\n" * 9, "text.fsgym": plain, "header.csv": labelled[0] + "\n"},
        **{"list.json": "[1, 2]", "number.json": "9" * 5000, "deep.json": "[" * 100_000, "half.json": '{"a": '},
        **{"twice.json": '{"crp": 1, "crp": 2}', "latin.json": b'{"\xe9": 1}', "null_names.json": '{"null": null}'},
        **{"huge.json": json.dumps({LONG: 1e300, "crp": "1" * 10_000}), "groups.json": '{"g": ["crp", 5, null]}'},
        **{"units.json": '{"crp": "\\u001b[31m"}', "pairs.json": '[["crp", "age"], ["crp", "crp"], [[], {}]]'},
        **{"errors.json": '{"no": {"yes": 1e308}, "yes": {"no": -1e308}}', "prices.csv": "name,price\ncrp,1e308\n"},
        **{"prices.json": '{"age": 1, "crp": 1e30, "wbc": 1, "ward": 1, "smoker": 1}'},
        **{"matrix.csv": ",age,crp\nage,2,0\ncrp,0,nan\n", "odd.csv": "a,b\n1\n2,3,4\n", "half.csv": plain[:-20] + '"'},
        **{"half.csv.gz": gzip.compress(plain.encode())[:-20], "latin.csv": plain.encode() + b"\xe9,1,2,3,4,5\n"},
        **{"zero_byte.csv": plain + "\0", "one_class.csv": plain.replace(",no", ",yes")},
        **{"four_rows.csv": "\n".join(labelled[:5]) + "\n", "repeated.csv": "a,a,ill\n1,2,yes\n3,4,no\n"},
        **{"escape.csv": plain.replace("crp", "c\x1b[31mp\u202e").replace("er", "e\x07r").replace(",no", ",n\x9bo")},
        "half.fsgym": model.read_bytes()[:2000],
        "model.fsgym": model.read_bytes(),
    }
    for folder_name in ("folder", "folder.csv", "folder.json", "closed", "with_pipe"):
        (folder / folder_name).mkdir(parents=True, exist_ok=True)
    manifests = {
        "list": [{"name": "x"}],
        "number": {"x": {"files": [{"file": "labelled.csv"}], "categorical_columns": 5}},
    }
    manifests["names"] = {"x": {"files": [{"file": ["a"]}], "n_samples": []}, "": {"files": [{"file": ""}]}}
    for name, content in manifests.items():
        texts[f"manifest_{name}/MANIFEST.json"] = json.dumps(content)
        texts[f"manifest_{name}/labelled.csv"] = plain
    for name, content in texts.items():
        _write(folder / name, content.encode() if isinstance(content, str) else content)
    for name in ("pipe", "pipe.csv", "pipe.json", "with_pipe/x.csv", "with_pipe/costs.json"):
        if not (folder / name).is_fifo():
            (folder / name).unlink(missing_ok=True)
            os.mkfifo(folder / name)
    links = {
        "full": "/dev/full",
        "full.csv": "/dev/full",
        "null": "/dev/null",
        "null.json": "/dev/null",
        "loop.csv": "loop.csv",
    }
    for name, place in links.items():  # as links, since a file that takes the place of one harms nothing
        if not (folder / name).is_symlink():
            (folder / name).unlink(missing_ok=True)
            (folder / name).symlink_to(place)
    if not (folder / "bomb.npz").exists():
        _write_archives(folder, plain)


def _write(path: Path, content: bytes) -> None:
    if path.is_dir() and not path.is_symlink():
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.is_symlink() or not path.is_file() or path.read_bytes() != content:
        path.unlink(missing_ok=True)
        path.write_bytes(content)


def _write_archives(folder: Path, plain: str) -> None:
    """Archives that are small, and huge when they are read."""
    X, y = np.zeros((20, 3)), np.arange(20) % 2
    np.savez(folder / "plain.npz", X=X, y=y)
    np.savez(folder / "objects.npz", X=X.astype(object), y=y)
    (folder / "half.npz").write_bytes((folder / "plain.npz").read_bytes()[:300])
    write_claim(folder / "claims.npz", (10**6, 10**6), b"")
    write_zeros(folder / "bomb.npz", 10_000_000)
    rows = (plain + plain.partition("\n")[2] * 400).encode()
    with gzip.open(folder / "bomb.csv.gz", "wb", compresslevel=9) as file:
        file.write(rows[:2000])
        for _ in range(100):
            file.write(b"\n" * 1_000_000)


def write_claim(path: Path, shape: tuple[int, ...], content: bytes) -> None:
    """An npz file with an array ``X`` whose header claims this shape of float64."""
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(header, {"descr": "<f8", "fortran_order": False, "shape": shape})
    labels = io.BytesIO()
    np.save(labels, np.arange(20) % 2)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("X.npy", header.getvalue() + content)
        archive.writestr("y.npy", labels.getvalue())


def write_zeros(path: Path, n_numbers: int) -> None:
    """An npz file of float64 zeros, of which the compressed file has a thousandth."""
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(header, {"descr": "<f8", "fortran_order": False, "shape": (n_numbers, 1)})
    with (
        zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive,
        archive.open("X.npy", "w", force_zip64=True) as file,
    ):
        file.write(header.getvalue())
        for _ in range(-(-8 * n_numbers // 2**24)):
            file.write(b"\0" * 2**24)
