"""The command ``serve``: cases in the browser, and steps for programs."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

import typer

from fsgym.cli import options
from fsgym.cli.mistakes import check_model
from fsgym.support.extras import require


def serve(
    model: options.ModelArgument,
    host: Annotated[
        str,
        typer.Option(help="Address to serve at. One that other machines can reach needs --token-file or FSGYM_TOKEN."),
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port to serve at; 0 takes a free one.")] = 8765,
    token_file: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="File with the token that is asked for, instead of a random one; it may also be in the environment "
            "variable FSGYM_TOKEN.",
        ),
    ] = None,
    name: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAMES",
            help="A further name under which the server is reached, such as that of a server in front of it which "
            "speaks TLS; separate several by commas.",
        ),
    ] = None,
    title: Annotated[
        str,
        typer.Option(
            help="Title of the pages; default: target and name of the training data, else the name of the file."
        ),
    ] = "",
    language: options.LanguageOption = "en",
    currency: options.CurrencyOption = "",
    most_cases: Annotated[
        int,
        typer.Option(min=1, max=100_000, help="How many cases are held; the least recently used one is dropped first."),
    ] = 1000,
    open_browser: Annotated[
        bool, typer.Option("--open/--no-open", help="Whether to open the page in the browser.")
    ] = False,
) -> None:
    """Ask about cases in the browser, question by question, on this machine.

    Prints the address to open. Nothing is written to disk: cases are held in memory until the command ends, and can be
    saved as files from the page. Programs send POST /api/step with the token as "Authorization: Bearer TOKEN";
    GET /api/openapi.json describes it.

    Example: fsgym serve model.safetensors --port 8765
    """
    require("web", "fsgym serve")
    check_model(model)
    options.check_language(language)
    if token_file is not None:
        from fsgym.data.reading.files import check_file

        check_file(token_file)
    from fsgym.cli.model_data import ModelData
    from fsgym.session.held_out import speech_of, titled

    serving: Any = import_module("fsgym.web.serving")
    classifier = ModelData.open(model, {}).classifier
    serving.serve(
        classifier,
        titled(classifier, title) or model.name,
        host,
        port,
        token_file=token_file,
        names=options.comma_separated(name),
        most_cases=most_cases,
        speech=speech_of(classifier, language, currency),
        browser=open_browser,
    )
