"""The runs of each experiment: problems, networks, horizons and hyperparameters.

Each statement's own algorithm runs at its own schedule
(:func:`dfltheory.experiments.cases.case_of`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import networkx as nx
import torch
from torch import Tensor

import dfltheory as dfl
from dfltheory.experiments.cases import VARIANTS, Case, case_of
from dfltheory.graphs.matrices import Matrix

# additive noise, one for both gradients of a SAM step: ||g|| <= B + ||noise||, so
# E||g||^2 <= (B + sigma_l)^2
SECOND_MOMENT = {"S2": (1.0 + 0.3) ** 2}
QUADRATIC_CLIENTS = 16
MakeCases = Callable[[bool], Iterator[Case]]
"""Function of ``quick``: cases that fit into ``make validate``, or longer ones."""


def mixing(name: str, m: int) -> Matrix:
    """Return Metropolis weights on a topology."""
    return dfl.graphs.metropolis(dfl.graphs.topology(name, m))


def with_constants(key: str) -> list[str]:
    """Return the variants of a statement that are not in O(.)."""
    variants = dfl.bounds.variants(key)
    return [v for v in variants if not dfl.bounds.get(key, variant=v).order]


def horizons(quick: bool) -> tuple[int, ...]:
    """Return the increasing horizons at which O(.) statements are tested."""
    return (400, 1600) if quick else (400, 1600, 6400, 25600)


# -- DFedSAM


def slow_start(task: dfl.tasks.Quadratic, gap: float = 1.0) -> Tensor:
    """Return a start with f(x^0) - f* = gap in the flattest direction."""
    values, vectors = torch.linalg.eigh(task.global_hessian(task.x_star))
    return task.x_star + (2 * gap / values[0]).sqrt() * vectors[:, 0]


def clipped(distance: float, m: int = 8) -> dfl.tasks.Task:
    """Return clients with gradients clipped at 1 around centers at a distance of 6.

    Their constants are exact. All clients start at ``distance``, where gradients are as
    large as the bounds allow, and remain so until the distance is covered.
    """
    return dfl.tasks.clipped(
        m=m, d=4, L=1.0, B=1.0, sigma=0.3, spread=6.0, distance=distance, seed=0
    )


def on_networks(
    task: dfl.tasks.Task,
    rounds: int,
    names: Sequence[str],
    Q: Sequence[int],
    **further: Any,
) -> list[Case]:
    """Return cases of Theorem 4.5, with a column per network and a row per Q.

    Step sizes are those of the corollaries.
    """
    cases = []
    for gossip_steps in Q:
        for name in names:
            case = case_of(
                "dfedsam.theorem_4_5",
                task,
                mixing(name, task.m),
                rounds,
                variants=VARIANTS,
                Q=gossip_steps,
                row=f"Q = {gossip_steps}",
                column=name,
                **further,
            )
            cases.append(case)
    return cases


def network_cases(quick: bool = True) -> list[Case]:
    """Return runs on clipped losses, whose curvatures differ between clients.

    The mean model therefore depends on the network. All constants are exact.
    """
    T = 3200 if quick else 20000  # the star requires T >= 64 * 49
    note = (
        "8 clients whose gradients are clipped at B = 1 around centers at a distance of"
        " 6. Where one client's loss is curved another's is not, so disagreement"
        " between clients moves their mean, and a sparse network is slower. Noise σ_l ="
        f" 0.3; K = 1, η = 1/(L √(KT)), ρ = 1/√T, T = {T}."
    )
    return on_networks(
        clipped(10.0),
        T,
        names=("ring", "star", "complete"),
        Q=(1, 3),
        K=1,
        seeds=6 if quick else 32,
        group="clipped losses, constants exact",
        note=note,
    )


def quadratic_cases(quick: bool = True) -> list[Case]:
    """Return a control experiment in which all clients share one Hessian.

    The mean model hardly depends on the network.
    """
    T, m = 1000 if quick else 20000, QUADRATIC_CLIENTS
    task = dfl.tasks.quadratic(m=m, d=10, L=1.0, mu=0.01, zeta=0.3, sigma=0.3, seed=0)
    note = (
        f"{m} clients with a common Hessian of spectrum [0.01, 1], heterogeneity σ_g ="
        " 0.3 and noise σ_l = 0.3 exactly; K = 5, and as in the corollaries η = 1/(L"
        f" √(KT)), ρ = 1/√T, T = {T}; f(x⁰) − f* = 1, all of it in the flattest"
        " direction, where descent is slowest. Since all clients share one Hessian,"
        " the mean model hardly depends on the network: the measured curves agree,"
        " while the bounds increase as the spectral gap decreases."
    )
    return on_networks(
        task,
        T,
        names=("torus", "complete"),
        Q=(1,),
        K=5,
        seeds=16 if quick else 64,
        x0=slow_start(task),
        group="quadratic, a control",
        note=note,
    )


def digits_cases(quick: bool = True) -> list[Case]:
    """Return runs of softmax regression on handwritten digits.

    Their constants are estimates or proved bounds.
    """
    T, m = 750 if quick else 5000, QUADRATIC_CLIENTS
    note = (
        f"Real images (handwritten digits) over {m} clients, labels split by"
        f" Dirichlet(0.6); K = 2, T = {T}, η as above, ρ = 0.3/√T. The table of"
        " constants says which values are proved and which are estimated; the verdicts"
        " are about the theorem with these values."
    )
    return on_networks(
        dfl.tasks.digits(m=m, partition="dirichlet", alpha=0.6, seed=0),
        T,
        names=("torus", "exponential", "complete"),
        Q=(1, 4),
        K=2,
        rho0=0.3,
        seeds=4 if quick else 16,
        group="handwritten digits, softmax regression",
        note=note,
    )


def dfedsam_theorem(quick: bool) -> Iterator[Case]:
    """Yield the runs of Theorem 4.5 of the DFedSAM paper."""
    yield from network_cases(quick)
    yield from quadratic_cases(quick)
    yield from digits_cases(quick)


def dfedsam_corollary(key: str, Q: int, networks: tuple[str, ...]) -> MakeCases:
    """Return the cases of a corollary at its schedule, on clipped losses."""
    method = "DFedSAM" if Q == 1 else "DFedSAM-MGS"
    note = f"8 clients whose curvatures differ, K = 2, Q = {Q}, rho0 = 1."

    def cases(quick: bool) -> Iterator[Case]:
        task = clipped(2.0)
        for name in networks:
            for T in horizons(quick):
                yield case_of(
                    key,
                    task,
                    mixing(name, task.m),
                    T,
                    K=2,
                    Q=Q,
                    row=f"T = {T}",
                    column=name,
                    group=f"clipped losses, {method} at the corollary's schedule",
                    note=note,
                    seeds=6 if quick else 32,
                    variants=["corrected"],
                )

    return cases


# -- DFedADMM: for sinusoidal losses, B, L, sigma_l and f* are exact


def dfedadmm_theorem(quick: bool) -> Iterator[Case]:
    """Yield runs of DFedADMM and DFedADMM-SAM at the paper's schedule.

    The condition eta <= 1/(96 K L) requires T >= 9216 rounds.
    """
    task = dfl.tasks.sinusoidal(
        m=6, d=2, L=1.0, B=1.0, sigma=0.3, spread=0.5, distance=1.0, seed=0
    )
    K, T = 3, 9300 if quick else 40000
    schedule = "eta = 1/(K L sqrt T), lambda = 1/(L sqrt(K T))"
    methods = (
        ("DFedADMM", "ring"),
        ("DFedADMM-SAM", "ring"),
        ("DFedADMM-SAM", "complete"),
    )
    for method, name in methods:
        yield case_of(
            "dfedadmm.theorem_1",
            task,
            mixing(name, 6),
            T,
            algorithm=method.lower().replace("-", ""),
            row=method,
            column=name,
            group="sinusoidal losses, bounded gradients",
            note=f"6 clients, K = {K}, T = {T}, {schedule}, rho0 = 1.",
            constants=SECOND_MOMENT,
            seeds=4 if quick else 16,
            K=K,
        )


def dfedadmm_corollary(quick: bool) -> Iterator[Case]:
    """Yield runs of DFedADMM-SAM at increasing horizons.

    The corrected corollary sets lambda = sqrt(K)/(L sqrt(T)), K times the paper's
    value. Both schedules are run.
    """
    task = clipped(10.0)
    schedules = {
        "corrected_paper_schedule": "the paper's lambda",
        "corrected": "lambda K times larger",
    }
    for variant, schedule in schedules.items():
        for T in horizons(quick):
            yield case_of(
                "dfedadmm.corollary_1",
                task,
                mixing("ring", 8),
                T,
                variants=[variant],
                group=f"clipped losses, {schedule}",
                row="ring",
                column=f"T = {T}",
                note="8 clients on a ring, K = 3, rho0 = 1.",
                constants=SECOND_MOMENT,
                algorithm="dfedadmmsam",
                K=3,
                seeds=4 if quick else 16,
            )


# -- DFedSGPSM: the push-sum constants delta, C = 1/delta and q are computed from the
# matrix


def dfedsgpsm(key: str, graph: nx.DiGraph, T: int, quick: bool, **further: Any) -> Case:
    """Return DFedSGPSM (alpha = 0.5) at the paper's schedule on a directed graph."""
    return case_of(
        key,
        clipped(20.0, m=graph.number_of_nodes()),
        dfl.graphs.column_stochastic(graph),
        T,
        K=3,
        alpha=0.5,
        algorithm="dfedsgpsm",
        seeds=8 if quick else 32,
        **further,
    )


def dfedsgpsm_theorem(quick: bool) -> Iterator[Case]:
    """Yield runs of Theorem 1 of the DFedSGPSM paper on three digraphs."""
    networks = {
        "directed ring": dfl.graphs.directed_ring(6),
        "directed exponential": dfl.graphs.directed_exponential(8),
        "random, out-degree 3": dfl.graphs.random_out_degree(8, 3, seed=2),
    }
    T = 1500 if quick else 20000
    note = (
        f"K = 3, T = {T}, alpha = 0.5, eta = 1/(K L sqrt T), rho0 = 1; delta, C and"
        " q computed."
    )
    for name, graph in networks.items():
        yield dfedsgpsm(
            "dfedsgpsm.theorem_1",
            graph,
            T,
            quick,
            column=name,
            group="clipped losses on digraphs",
            row="DFedSGPSM",
            note=note,
        )


def dfedsgpsm_corollary(quick: bool) -> Iterator[Case]:
    """Yield runs at increasing horizons, for the corrected bound and printed O(.)."""
    note = (
        "K = 3, alpha = 0.5, eta = 1/(K L sqrt T), rho0 = 1; delta, C and q computed."
    )
    for T in horizons(quick):
        yield dfedsgpsm(
            "dfedsgpsm.corollary_1",
            dfl.graphs.directed_exponential(8),
            T,
            quick,
            column=f"T = {T}",
            group="clipped losses on digraphs, the corollary's schedule",
            row="directed exponential",
            variants=["corrected"],
            note=note,
        )


# -- DFedMDC: the shared block u and the personal blocks v_i are coupled by bounded
# terms, so all constants are exact


def dfedmdc(key: str, method: str) -> MakeCases:
    """Return the cases on two networks at increasing horizons.

    The left-hand side is the sum of both blocks' squared gradient norms. The printed
    statement evaluates it at V^t, the corrected one at V^{t+1}.
    """
    note = (
        "8 clients that start at 3 in every coordinate, K_u = K_v = 3, "
        "eta_u = 1/(K_u L_u sqrt T), eta_v = 1/(K_v L_v sqrt T)."
    )

    def cases(quick: bool) -> Iterator[Case]:
        task = dfl.tasks.coupled(
            m=8,
            p=3,
            L_u=1.0,
            L_v=1.0,
            chi=0.3,
            spread=0.5,
            sigma_u=0.3,
            sigma_v=0.3,
            seed=0,
        )
        spans = {"complete": (1100, 3600), "exponential": (3600,)}
        for name, span in spans.items():
            for T in span if quick else (1100, 4400, 17600):
                yield case_of(
                    key,
                    task,
                    mixing(name, 8),
                    T,
                    K_u=3,
                    K_v=3,
                    row=name,
                    column=f"T = {T}",
                    group=f"coupled blocks, {method}",
                    note=note,
                    x0=torch.full((task.d,), 3.0, dtype=task.dtype),
                    seeds=4 if quick else 16,
                    variants=with_constants(key),
                    algorithm=method.lower(),
                )

    return cases
