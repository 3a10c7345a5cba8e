"""What docs/standard.md says about statements that have no row, written by hand."""

from __future__ import annotations

NOTES = """## What is not entered, and why

* Wang and Joshi 2021, other auxiliary variables than that of EASGD with its best alpha, and noise that grows
  with the gradient (beta > 0). By hand, Theorem 1 at zeta = m/(m + 2) and v = 1 gives Theorem 3 with 1 + 2/m
  + 2/m^2 in place of C = 1 + 2 (1 + 1/m)^2, which is larger: Theorem 3 follows, and is loose by up to 3.
* Vogels, Hendrikx and Jaggi 2023, Theorem 6 as printed: a contraction of a Lyapunov function in every round.
  The file states it with a measure of its own and `aggregate = "each"`; the function needs the fixed point of
  D-SGD, which no run knows, so that neither `compare` nor `falsify` can treat it. It cannot be searched; on
  quadratics tests compute it without sampling, and in fractions on pairs of clients. Corollaries 7, 8 and 10:
  constants are not given, and the spectral dimension belongs to an infinite family of graphs.
* Vogels, Hendrikx and Jaggi 2023, Theorem 9: the norm on the left is printed without its square. Read so,
  both displays are false: two clients with f = x^2/2 that start at 1/10 exceed them after one round, in
  fractions. (40) of the proof has the square, and with it both displays hold in fractions on random pairs of
  clients, in every round, at the largest step size that (25) admits
  (tests/bounds/test_vogels2023_fractions.py). The proof gives 12 in the noise where 6 is printed: 2 of (40),
  times 2 of sigma_M^2 in Theorem 6, times 3 of (45). The printed bound is nevertheless true. In (45) the
  weights 3/2 and 3 can replace 3 and 3, and in (41) the term ||x_eta - mean||^2 is counted twice; without
  that, 2 kappa + 3 kappa <= 6 kappa.
* Lu and De Sa 2023, upper bounds (DeFacto, DeTAG, DeTAGM): the package has none of these algorithms. The
  lower bounds are entered as orders, solved for the error.
* Yuan, Alghunaim and Huang 2023, Theorems 11 and 18 as rates: their step sizes contain minima and a logarithm
  and are not entered, and no search treats a rate without its step size. (82), from which Theorem 11 follows,
  has constants and is searched. Theorem 18 bounds a mean that gives late rounds more weight, which no run
  records.
* Yuan, Alghunaim and Huang 2023, Theorem 22: a lower bound of the transient time, which belongs to many runs.
  `dfl.rate_fit` measures transient times; no search can treat it.
"""
