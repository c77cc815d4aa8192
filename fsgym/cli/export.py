"""The command ``export``: a model as one HTML page that works offline."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

import typer

from fsgym.cli import options
from fsgym.cli.mistakes import check_model, refuse_folder
from fsgym.cli.terminal import show
from fsgym.support.writing import write_whole
from fsgym.text.messages import listing

PAGE_ENDINGS = (".html", ".htm")
HEAD_BYTES = 4096  # of a file, which say what it is
PAGE_MARK, POLICY_MARK = b'content="fsgym export"', b'"fsgym-policy-'


def export(
    model: options.ModelArgument,
    page: Annotated[Path, typer.Argument(metavar="PAGE", help="File for the page, such as page.html.")],
    json_file: Annotated[
        Path | None,
        typer.Option("--json", metavar="FILE", help="Also write the policy as JSON, as docs/policy-format.md has it."),
    ] = None,
    title: Annotated[
        str, typer.Option(help="Title of the page; default: target and name of the training data.", show_default=False)
    ] = "",
    language: options.LanguageOption = "en",
    currency: options.CurrencyOption = "",
) -> None:
    """Write an HTML page that asks about one case, question by question, in any browser.

    The page holds the whole model. It needs no Python and no network, and sends nothing.

    A page or policy that this command wrote before is replaced, any other file is not.

    Example: fsgym export model.safetensors page.html
    """
    check_model(model)
    refuse_folder(page, "", "the page")
    if page.suffix.lower() not in PAGE_ENDINGS:
        raise ValueError(f"the page must end in .html or .htm, got {page}; --json FILE also writes the policy as JSON")
    refuse_folder(json_file, "--json", "the policy")
    options.check_language(language)
    for path, mark, name in ((page, PAGE_MARK, "page"), (json_file, POLICY_MARK, "policy")):
        if path is not None:
            _refuse_unlike(path, mark, name)
    if json_file is not None and json_file.resolve() == page.resolve():
        raise ValueError(f"--json must be another file than the page, got {json_file}")
    agents: Any = import_module("agents")
    classifier = agents.load_classifier(model)
    classifier.save_page(page, title, language=language, currency=currency)
    written = f"{page} ({page.stat().st_size / 1e6:.2g} MB)"
    if json_file is not None:
        write_whole(json_file, classifier.policy_json())
        written += f", {json_file} ({json_file.stat().st_size / 1e6:.2g} MB)"
    show(f"Written: {written}. Open the page in a browser; it needs no network.")
    if names := getattr(classifier, "evidence_", ()):
        show(
            f"It is of cases of which it is not said whether there is a value of {listing(names)}: fsgym serve asks "
            "that, and fsgym predict takes empty cells as evidence, so that their answers may be others."
        )


def _refuse_unlike(path: Path, mark: bytes, name: str) -> None:
    """An error where the file cannot be written, or exists and is not what this command writes."""
    if not path.absolute().parent.is_dir():
        raise FileNotFoundError(f"there is no folder {path.parent} for the {name}; create it, or choose another one")
    if path.is_file() and path.stat().st_size:
        with path.open("rb") as file:
            if mark not in file.read(HEAD_BYTES):
                raise ValueError(f"{path} exists and is no {name} that fsgym wrote; choose another name")
