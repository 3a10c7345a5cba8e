"""DFedSAM (Shi et al., ICML 2023): tables 1-3, figures 2-6. The poster repeats tables 1, 2 and figure 3."""

from __future__ import annotations

from validation.reproduce.items import (
    ACCURACY,
    DIVISIONS,
    FIXED,
    FIXED_NAMES,
    GAP,
    SHARPNESS,
    TRAIN,
    Line,
    Paper,
    best,
    divided,
    rising,
    varied,
)

PAPER = Paper(
    "dfedsam",
    "Shi et al. 2023 (DFedSAM)",
    "100 clients, VGG-11 on CIFAR-10 and ResNet-18 on CIFAR-100 with group norm, batch 128, 5 local epochs "
    "(D-PSGD 1), eta 0.1 decayed by 0.998 a round, weight decay 5e-4 (none in FedSAM), momentum 0.9 in "
    "DFedAvgM, rho 0.01 (FedSAM's is not printed; 0.1 is taken), Q = 4 in DFedSAM-MGS",
)
UNSAID = "The paper does not say which division of the images this one has; Dirichlet 0.6 is taken."
ONE = {"dataset": "cifar10", "partition": "dirichlet 0.6"}

NEW, RIVALS = "DFedSAM, DFedSAM-MGS", "D-PSGD, DFedAvg, DFedAvgM, DisPFL"
ALL = f"FedAvg, FedSAM, {RIVALS}, {NEW}"
DECENTRALIZED = "D-PSGD, DFedAvg, DFedAvgM, DFedSAM, DFedSAM-MGS"
DATASETS = {"CIFAR-10": "cifar10", "CIFAR-100": "cifar100"}
BETTER = "DFedSAM and DFedSAM-MGS are more accurate than the other decentralized methods"

_table_1 = tuple(
    Line(f"{data} {division} {word}", {"dataset": name, "partition": kind}, measure)
    for data, name in DATASETS.items()
    for division, kind in DIVISIONS.items()
    for word, measure in (("train", TRAIN), ("test", ACCURACY), ("gap", GAP))
)
_TESTS = [line.label for line in _table_1 if line.measure is ACCURACY]
_GAPS = [line.label for line in _table_1 if line.measure is GAP]
TABLE_1 = PAPER.item(
    "table_1",
    "All methods on CIFAR-10 and CIFAR-100, IID and not: train, test, their difference",
    "random neighbors, at most 10; 1000 rounds.",
    _table_1,
    """
FedAvg      | 99.99 82.39 17.60 99.99 84.17 15.82 99.99 84.70 15.29
FedSAM      | 99.75 82.49 16.26 99.89 85.04 14.85 99.98 84.98 15.00
D-PSGD      | 98.59 68.23 30.36 99.09 70.58 28.51 99.75 73.23 26.52
DFedAvg     | 99.75 73.55 26.20 99.93 74.67 25.26 99.95 75.55 24.40
DFedAvgM    | 99.93 79.96 19.97 99.95 81.56 17.39 99.95 82.07 17.88
DisPFL      | 99.90 72.19 27.71 99.93 74.43 25.50 99.95 76.18 23.77
DFedSAM     | 99.41 82.04 17.37 99.44 84.38 15.06 99.44 85.30 14.14
DFedSAM-MGS | 99.53 84.26 15.27 99.65 85.14 14.51 99.69 86.47 13.22
FedAvg      | 99.99 48.36 51.63 99.99 53.06 46.93 99.99 54.16 45.83
FedSAM      | 99.99 52.98 47.01 99.99 55.88 44.11 99.99 59.60 40.39
D-PSGD      | 90.72 27.98 62.74 90.15 30.62 59.53 92.19 33.64 59.55
DFedAvg     | 99.56 27.62 61.94 99.56 32.82 66.74 99.68 36.77 632.91
DFedAvgM    | 99.56 45.11 54.45 99.60 45.50 54.10 99.78 47.98 51.80
DisPFL      | 97.20 30.15 67.05 99.48 32.44 67.04 99.69 35.98 63.71
DFedSAM     | 99.87 48.66 51.21 99.85 52.70 47.15 99.97 53.12 46.85
DFedSAM-MGS | 99.92 52.37 47.55 99.95 54.91 45.04 99.97 56.15 43.82
""",
    best(NEW, RIVALS, BETTER, _TESTS),
    best(NEW, RIVALS, "and generalize better (the smaller gap to training)", _GAPS),
    best("DFedSAM-MGS", "DFedSAM", "multiple gossip steps help further", _TESTS),
    best("DFedSAM-MGS", "FedSAM", "DFedSAM-MGS is better than FedSAM on CIFAR-10", _TESTS[:3]),
    best("DFedSAM-MGS", "FedSAM", "and has the smaller gap there", _GAPS[:3]),
    best("DFedSAM", "FedAvg", "DFedSAM has a smaller gap than FedAvg on CIFAR-10", _GAPS[:3]),
    source=" (and the poster's table 1)",
)

TABLE_2 = PAPER.item(
    "table_2",
    "Decentralized methods on four topologies, CIFAR-10",
    "fixed topologies; 1000 rounds.",
    FIXED,
    """
D-PSGD      | 68.96 74.36 74.90 75.35
DFedAvg     | 69.95 80.17 83.13 83.48
DFedAvgM    | 72.55 85.24 86.94 87.50
DFedSAM     | 73.19 85.28 87.44 88.05
DFedSAM-MGS | 80.55 87.39 88.06 88.20
""",
    rising(FIXED_NAMES, "Ring < Grid < Exp < Full for every method"),
    best("DFedSAM", "D-PSGD, DFedAvg, DFedAvgM", "DFedSAM is better than the baselines"),
    best(
        "DFedSAM-MGS",
        DECENTRALIZED,
        "DFedSAM-MGS, with multiple gossip steps, is the best on every topology",
    ),
    source=" (and the poster's table 2)",
    unsaid=UNSAID,
    base=ONE,
)

TABLE_3 = PAPER.item(
    "table_3",
    "All methods where a client holds 2 classes",
    "pathological division, 2 classes a client; random neighbors; 500 rounds.",
    tuple(Line(data, {"dataset": name, "partition": "classes 2"}) for data, name in DATASETS.items()),
    """
FedAvg      | 63.23 9.66
FedSAM      | 65.61 13.07
D-PSGD      | 39.53 5.60
DFedAvg     | 45.67 5.35
DFedAvgM    | 51.64 7.65
DisPFL      | 47.61 5.69
DFedSAM     | 60.58 9.91
DFedSAM-MGS | 64.45 12.07
""",
    best(NEW, RIVALS, "DFedSAM and DFedSAM-MGS are better than the other decentralized methods"),
    base={"rounds": 500},
)

FIGURE_2 = PAPER.item(
    "figure_2",
    "Loss landscapes: a server's averaging (FedAvg) and neighbors' (DFedAvg)",
    "Fashion-MNIST and CIFAR-10; the landscape at the final mean model.",
    (Line("Fashion-MNIST", {"dataset": "fashion_mnist"}), Line("CIFAR-10", {"dataset": "cifar10"})),
    "",
    best(
        "FedAvg", "DFedAvg", "DFedAvg's landscape is the sharper one (here: the largest Hessian eigenvalue)"
    ),
    unsaid="The paper says neither the division nor, for Fashion-MNIST, the network; Dirichlet 0.6 and the "
    "dense network of the MNIST experiments are taken. Directions are filter-normalized (Li et al. 2018).",
    base={"partition": "dirichlet 0.6", "probe": True},
    rows="FedAvg, DFedAvg",
    measure=SHARPNESS,
    form="surfaces",
)

FIGURE_3 = PAPER.item(
    "figure_3",
    "Test accuracy over the rounds, all methods",
    "random neighbors, at most 10; 1000 rounds.",
    divided(DATASETS),
    "",
    best(NEW, RIVALS, BETTER),
    source=" (and the poster's figure 3)",
    rows=ALL,
    form="curves",
)

FIGURE_4 = PAPER.item(
    "figure_4",
    "DFedSAM-MGS with Q = 1 to 4 gossip steps a round on three topologies",
    "CIFAR-10; 500 rounds; the paper's axis counts gossip steps, Q a round.",
    FIXED[:3],
    "",
    best(
        "Q = 4",
        "Q = 1",
        "more gossip steps a round give more accuracy after as many rounds (Q = 4 above Q = 1)",
    ),
    unsaid=UNSAID,
    base={**ONE, "rounds": 500},
    rows=tuple(
        Line(f"Q = {q}", {"method": "dfedsam" if q == 1 else "dfedsam-mgs", "letters": {"Q": q}})
        for q in (1, 2, 3, 4)
    ),
    form="curves",
    axis="gossip steps",
    per_round={f"Q = {q}": q for q in (1, 2, 3, 4)},
)

FIGURE_5A = PAPER.item(
    "figure_5a",
    "The largest Hessian eigenvalue of what each method finds",
    "CIFAR-10, Dirichlet 0.6.",
    (Line("random neighbors"),),
    "",
    best(NEW, "DFedAvg", "DFedSAM and DFedSAM-MGS find flatter minima than DFedAvg"),
    base={**ONE, "probe": True},
    rows=f"FedAvg, DFedAvg, {NEW}",
    measure=SHARPNESS,
)
FIGURE_5B = PAPER.item(
    "figure_5b",
    "Decentralized methods on four topologies, over the rounds",
    "fixed topologies; 1000 rounds.",
    FIXED,
    "",
    *TABLE_2.orders[1:],
    unsaid=UNSAID,
    base=ONE,
    rows=DECENTRALIZED,
    form="curves",
)

_RADII = (0.01, 0.025, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1.0)
_VARIED = {
    "local epochs": varied("{} local epochs", "K", (1, 2, 5, 10), "epochs"),
    "clients": varied("m = {}", "clients", (50, 100, 150)),
    "SAM radius": varied("rho = {:g}", "rho", _RADII, "letters"),
}
FIGURE_6 = PAPER.item(
    "figure_6",
    "DFedSAM with other numbers of local epochs, clients, and other SAM radii",
    "CIFAR-10, the exponential topology; 500 rounds; one thing is varied at a time.",
    (Line("DFedSAM"),),
    "",
    best("10 local epochs", "1 local epochs", "more local epochs converge faster"),
    best("m = 50, m = 100", "m = 150", "fewer clients (50 or 100, not 150), with more data each, do better"),
    best("rho = 0.01", "rho = 1", "rho = 0.01 is better than rho = 1"),
    unsaid=UNSAID + " The values of local epochs are not printed; 1, 2, 5 and 10 are taken.",
    base={**ONE, "method": "dfedsam", "topology": "exp", "rounds": 500},
    panels=_VARIED,
    form="curves",
)

ITEMS = (TABLE_1, TABLE_2, TABLE_3, FIGURE_2, FIGURE_3, FIGURE_4, FIGURE_5A, FIGURE_5B, FIGURE_6)
