"""``python -m fsgym`` is the command ``fsgym``."""

from fsgym.cli import main

if __name__ == "__main__":
    main()
