"""The command line. Heavy modules are imported only when a command runs."""

from fsgym.cli.main import app, main

__all__ = ["app", "main"]
