"""The command line. Everything beyond the arguments themselves is imported when a command runs."""

from fsgym.cli.main import app, main

__all__ = ["app", "main"]
