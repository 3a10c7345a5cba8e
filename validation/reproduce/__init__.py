"""The papers' tables and figures: what they print, and the same comparison run here.

``papers/<paper>.toml`` holds what a paper prints and its settings, ``items.py`` reads
it; ``scales.py`` says at which size it is run and what is reduced; ``cells.py`` runs
one entry; ``outcome.py`` shows the paper's numbers and ours; ``pictures.py`` draws
them; ``__main__.py`` is the command line.
"""
