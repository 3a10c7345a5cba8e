"""``python -m dfltheory``: the command line, where its script is not on the path."""

from dfltheory.cli import main

if __name__ == "__main__":
    main()
