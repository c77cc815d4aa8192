"""Pictures that an example of the gallery writes as SVG files are shown like figures of Matplotlib."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

from sphinx_gallery.scrapers import figure_rst


def show_svg_files(block: Any, block_vars: dict[str, Any], gallery_conf: dict[str, Any]) -> str:
    """Move the SVG files that a block has written to where the gallery wants its pictures."""
    folder = Path(block_vars["src_file"]).parent
    shown = []
    for written in sorted(folder.glob("*.svg")):
        place = str(Path(next(block_vars["image_path_iterator"])).with_suffix(".svg"))
        shutil.move(written, place)
        shown.append(place)
    return figure_rst(shown, gallery_conf["src_dir"])
