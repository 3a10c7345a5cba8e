"""Learning problems: synthetic ones with known constants, and real data.

>>> task = quadratic(m=16, d=10, L=1.0, mu=0.1, zeta=1.0, sigma=0.1, seed=0)
>>> task.constants.sigma_g                          # exact: the Hessians agree
1.0
>>> task = digits(m=10, partition="dirichlet", alpha=0.3, model="mlp", seed=0)
"""

from dfltheory.tasks import estimate, partition
from dfltheory.tasks.federated import digits, image_task, measured_on
from dfltheory.tasks.images import ImageSet
from dfltheory.tasks.noise import FiniteSupport, Gaussian, Noise
from dfltheory.tasks.personal import Coupled, coupled
from dfltheory.tasks.quadratics import Quadratic
from dfltheory.tasks.random_quadratics import quadratic
from dfltheory.tasks.registry import get, names
from dfltheory.tasks.separable import Clipped, Sinusoidal, clipped, sinusoidal
from dfltheory.tasks.sources import supervised_from
from dfltheory.tasks.supervised import Supervised
from dfltheory.tasks.synthetic import Synthetic
from dfltheory.tasks.task import Task

__all__ = [
    "Clipped",
    "Coupled",
    "FiniteSupport",
    "Gaussian",
    "ImageSet",
    "Noise",
    "Quadratic",
    "Sinusoidal",
    "Supervised",
    "Synthetic",
    "Task",
    "clipped",
    "coupled",
    "digits",
    "estimate",
    "get",
    "image_task",
    "measured_on",
    "names",
    "partition",
    "quadratic",
    "sinusoidal",
    "supervised_from",
]
