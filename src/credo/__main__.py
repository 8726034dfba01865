"""`python -m credo` is the `credo` command."""

from credo.cli import main

if __name__ == "__main__":
    main()
