"""Inequalities that are proved where a theorem's conditions hold, in exact arithmetic.

``by_form`` reads signs from the form of an expression; ``region`` proves inequalities
between rational expressions, roots, maxima and powers; ``script_region`` does so in the
quantities of a proof script.
"""
