"""The papers' tables and figures: what they print, and the same comparison run here.

``items.py`` says what a table or figure is, one module a paper holds what that paper prints; ``scales.py``
says at which size it is run and what is reduced; ``cells.py`` runs one entry of it; ``outcome.py`` puts the
paper's numbers beside ours; ``pictures.py`` draws them; ``__main__.py`` is the command line.
"""
