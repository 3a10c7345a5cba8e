"""The papers' tables and figures: printed numbers, and the same comparisons run here.

``papers/<paper>.toml``  printed numbers and settings of a paper
``items.py``             reads these files
``scales.py``            full and reduced sizes of the experiments
``cells.py``             runs one entry of a table
``outcome.py``           compares the paper's numbers with ours
``pictures.py``          draws figures
``__main__.py``          command line
"""
