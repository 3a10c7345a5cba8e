"""``python -m dfltheory``: the command line without its script on the path."""

from dfltheory.cli import main

if __name__ == "__main__":
    main()
