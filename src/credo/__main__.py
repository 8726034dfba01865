"""`python -m credo` is the `credo` command."""

from __future__ import annotations

from credo.app.cli import main

if __name__ == "__main__":
    main()
