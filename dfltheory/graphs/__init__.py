"""Communication graphs, mixing matrices, and the network constants of theorems.

A graph (``topologies``) and a weight rule (``weights``) define a mixing matrix W; a
sequence (``sequences``, ``time_varying``) defines one for each round.
:func:`check_mixing_matrix` and :func:`check_push_sum` check assumptions of theorems.
:func:`spectral_report`, :func:`push_sum_constants` and :func:`network_constants`
compute constants.
"""

from dfltheory.graphs.assumptions import DEFINITION_1, PUSH_SUM, Failure, Report
from dfltheory.graphs.cited_push_sum import (
    CitedConstants,
    assran_constants,
    cited_constants,
)
from dfltheory.graphs.computed import (
    average_degree,
    diameter,
    effective_neighbors,
    neighborhood_heterogeneity,
    spectrum_min,
    spectrum_sum,
)
from dfltheory.graphs.definition_1 import check_mixing_matrix, check_push_sum
from dfltheory.graphs.files import read_matrix_file
from dfltheory.graphs.gap_scaling import Scaling, gap_scaling
from dfltheory.graphs.loss_driven import LossDriven
from dfltheory.graphs.matcha import Matcha
from dfltheory.graphs.matrices import DENSE_LIMIT, adjacency, as_matrix
from dfltheory.graphs.network import (
    MeanSquareContraction,
    mean_square_contraction,
    network_constants,
)
from dfltheory.graphs.plots import plot_topology
from dfltheory.graphs.push_sum import PushSumConstants, push_sum_constants, sigma_2
from dfltheory.graphs.repeated_draws import OnePerRound, one_per_round
from dfltheory.graphs.sequence_conversion import as_sequence
from dfltheory.graphs.sequences import (
    Constant,
    MixingSequence,
    Periodic,
    UserSequence,
    kind_of,
)
from dfltheory.graphs.spectral import (
    SpectralReport,
    eigenvalues,
    lam,
    mixing_rounds,
    phi,
    spectral_gap,
    spectral_report,
)
from dfltheory.graphs.time_varying import (
    ClientSampling,
    LinkFailures,
    RandomMatching,
    RandomNeighbors,
    one_peer_exponential,
)
from dfltheory.graphs.topologies import (
    OTHER_NAMES,
    TOPOLOGIES,
    as_graph,
    binary_tree,
    complete,
    directed_exponential,
    directed_ring,
    erdos_renyi,
    exponential,
    from_matrix,
    grid,
    hypercube,
    path,
    random_out_degree,
    random_regular,
    ring,
    star,
    topology,
    topology_key,
    torus,
    two_cliques,
)
from dfltheory.graphs.weights import (
    WEIGHT_RULES,
    column_stochastic,
    fastest_mixing,
    laplacian,
    lazy,
    max_degree,
    metropolis,
    row_stochastic,
    uniform,
    weights,
)

# static topologies
__all__ = [
    "OTHER_NAMES",
    "TOPOLOGIES",
    "topology",
    "topology_key",
    "ring",
    "path",
    "star",
    "complete",
    "grid",
    "torus",
    "hypercube",
]
__all__ += [
    "exponential",
    "directed_exponential",
    "directed_ring",
    "random_regular",
    "erdos_renyi",
]
__all__ += [
    "random_out_degree",
    "two_cliques",
    "binary_tree",
    "from_matrix",
    "as_graph",
]
# weight rules
__all__ += [
    "WEIGHT_RULES",
    "weights",
    "metropolis",
    "uniform",
    "max_degree",
    "lazy",
    "laplacian",
]
__all__ += ["column_stochastic", "row_stochastic", "fastest_mixing"]
# matrices and files
__all__ += ["DENSE_LIMIT", "adjacency", "as_matrix", "read_matrix_file"]
# sequences
__all__ += [
    "MixingSequence",
    "as_sequence",
    "Constant",
    "Periodic",
    "UserSequence",
    "one_peer_exponential",
]
__all__ += ["OnePerRound", "kind_of", "one_per_round"]
__all__ += [
    "RandomMatching",
    "RandomNeighbors",
    "ClientSampling",
    "LinkFailures",
    "LossDriven",
]
__all__ += ["Matcha"]
# functions of a matrix that theorems use
__all__ += ["average_degree", "diameter", "effective_neighbors"]
__all__ += ["neighborhood_heterogeneity", "spectrum_min", "spectrum_sum"]
# pictures
__all__ += ["plot_topology"]
# assumptions
__all__ += [
    "DEFINITION_1",
    "PUSH_SUM",
    "Failure",
    "Report",
    "check_mixing_matrix",
    "check_push_sum",
]
# constants
__all__ += [
    "network_constants",
    "SpectralReport",
    "spectral_report",
    "spectral_gap",
    "lam",
    "eigenvalues",
]
__all__ += ["phi", "mixing_rounds"]
__all__ += [
    "MeanSquareContraction",
    "mean_square_contraction",
    "PushSumConstants",
    "push_sum_constants",
]
__all__ += ["sigma_2", "CitedConstants"]
__all__ += ["cited_constants", "assran_constants", "Scaling", "gap_scaling"]
