from sympy import StrPrinter as StrPrinter
