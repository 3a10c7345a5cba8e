r"""A small kernel for the layer of expectations: rules take facts to facts, and nothing
else makes a fact.

**Meaning.** All is about one round t of one algorithm on m clients with K local steps;
of models of two blocks with K_v steps of the personal part v, then K_u of the shared
part u. A *vector* is a random family ``U = (U_i)_i``, which may depend on the step k;
the product is ``<U, V> = (1/m) sum_i E<U_i, V_i>``, and ``sq(U) = <U, U>``, ``root(U) =
sq(U)^(1/2)``, ``value(U) = (1/m) sum_i E f_i(U_i)``: E f(u) at a common u, E F(u, V)
where u is common and v_i is not. A moment may be taken over the steps (``mean``: the
mean square over k < K; ``max``: the largest) and over the rounds (``mean`` over t < T;
``next``: at t + 1; ``start``: at t = 0). A :class:`Fact` ``left <= right`` is linear in
moments, with coefficients in the glossary's symbols. It holds for every round, and for
every step k < K where k is free, of every run that has the hypotheses it ``uses``,
where its ``demands`` (signs of expressions) hold.

**Trust.** A Fact is made by a function under ``@rule``, from arguments that are facts
made so. A rule cites its textbook statement; ``tests/bounds/test_kernel.py`` attacks
each with random finite probability spaces in exact arithmetic, and runs the algorithms
of the proofs there. ``proved.check`` compares the last fact with the registry's bound,
grants hypotheses by the theorem's assumptions and scope, and proves the demands.
Moments are of square-integrable vectors: a finite start, smoothness and finite variance
keep them so.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import fields, replace
from functools import wraps
from inspect import signature
from types import MappingProxyType
from weakref import WeakSet

import sympy as sp

from dfltheory.bounds import symbols as s
from dfltheory.bounds.real_numbers import expression, has_poles, reality
from dfltheory.bounds.units import Expr
from dfltheory.proofs import hypotheses as h
from dfltheory.proofs.moments import (
    BLOCKS,
    DUAL,
    EHAT,
    PLAIN,
    SAMPLED,
    XBAR,
    Algorithm,
    Atom,
    Claim,
    Demand,
    E,
    Form,
    G,
    Lag,
    Moment,
    N,
    Rule,
    RuleError,
    Vec,
    X,
    form,
    inner,
    k,
    need,
    one,
    root,
    sq,
    value,
)

# -- facts

_TOKEN = object()
_ISSUED: WeakSet[Fact] = WeakSet()


class Fact:
    """``left <= right`` (``==`` if ``equal``); see the module. Only rules make one."""

    __slots__ = (
        "__weakref__",
        "arguments",
        "demands",
        "equal",
        "lags",
        "left",
        "of",
        "premises",
        "right",
        "rule",
        "uses",
    )

    def __init__(self, token: object, **fields: object) -> None:
        need(token is _TOKEN, "a Fact is made by the kernel's rules alone")
        for name, held in fields.items():
            object.__setattr__(self, name, held)
        _ISSUED.add(self)

    def __setattr__(self, name: str, held: object) -> None:
        raise RuleError("a Fact does not change")

    def __str__(self) -> str:
        sides = (
            " + ".join(f"({c}) {m}" for m, c in x.items()) or "0"
            for x in (self.left, self.right)
        )
        return (" == " if self.equal else " <= ").join(sides)

    @property
    def phases(self) -> set[str]:
        """The phase of the step k that it is about, if any: where a coefficient has k,
        those of its premises too.
        """
        found = set().union(*(m.phases for m in (*self.left, *self.right)))
        if any(
            k in c.free_symbols for c in (*self.left.values(), *self.right.values())
        ):
            found |= set().union(*(p.phases for p in self.premises))
        return found

    def trail(self) -> list[Fact]:
        """The facts that it follows from, each once, premises first, itself last."""
        return list(
            dict.fromkeys((*(fact for p in self.premises for fact in p.trail()), self))
        )


def genuine(fact: object) -> bool:
    """Was it made by the kernel's rules?"""
    return type(fact) is Fact and fact in _ISSUED


def _within(given: object) -> Iterator[object]:
    """All that an argument is made of: itself, and what is in it."""
    yield given
    parts: list[object] = []
    if type(given) in (Algorithm, Atom, Lag, Moment, Vec):
        parts = [getattr(given, f.name) for f in fields(given)]  # type: ignore[arg-type]
    elif isinstance(given, (tuple, list, frozenset, dict)):
        parts = [*given, *(given.values() if isinstance(given, dict) else ())]
    for part in parts:
        yield from _within(part)


_WORDS = (
    tuple,
    list,
    frozenset,
    dict,
    Algorithm,
    Atom,
    Lag,
    Moment,
    Vec,
    int,
    str,
    bool,
    type(None),
)
"""Types of arguments that rules accept; subclasses are rejected, because they could
override behavior."""

_MADE: dict[str, Rule] = {}


def rule(
    cites: str, *uses: h.Hypothesis
) -> Callable[[Callable[..., Claim]], Callable[..., Fact]]:
    """Make a function that gives a Claim one that gives a Fact: in this file alone."""
    need(
        "RULES" not in globals(),
        "the rules stand in kernel.py: a proof does not bring its own",
    )

    def made(function: Callable[..., Claim]) -> Callable[..., Fact]:
        name = function.__name__.rstrip("_")
        _MADE[name] = Rule(
            name, " ".join((function.__doc__ or "").split()), cites, uses
        )

        @wraps(function)
        def apply(*arguments: object, **named: object) -> Fact:
            given = (*arguments, *named.values())
            premises = tuple(a for a in given if isinstance(a, Fact) and genuine(a))
            parts = [part for a in given if not genuine(a) for part in _within(a)]
            strange = [
                p
                for p in parts
                if type(p) not in _WORDS and not isinstance(p, sp.Basic)
            ]
            need(
                not strange,
                "{}: a premise was not made by the kernel, or is none of its words",
                name,
            )
            real = [demand for part in parts for demand in _entered(part)]
            about = {a for a in given if isinstance(a, Algorithm)} | {
                p.of for p in premises if p.of
            }
            need(
                len(about) <= 1, "{}: the premises are about different algorithms", name
            )
            claim = function(*arguments, **named)
            need(
                not any(has_poles(d.expr) for d in claim.demands),
                "{}: a demand is no number",
                name,
            )
            demands = dict.fromkeys(d for p in premises for d in p.demands)
            demands |= dict.fromkeys((*claim.demands, *real))
            fact = Fact(
                _TOKEN,
                left=MappingProxyType(form((claim.left, sp.S.One))),
                right=MappingProxyType(form((claim.right, sp.S.One))),
                equal=claim.equal,
                demands=tuple(d for d in demands if not d.plain),
                uses=frozenset(uses).union(*(p.uses for p in premises)),
                lags=frozenset(p for p in parts if isinstance(p, Lag)).union(
                    *(p.lags for p in premises)
                ),
                premises=premises,
                arguments=signature(function).bind(*arguments, **named),
                rule=name,
                of=next(iter(about), None),
            )
            need(
                len(fact.phases) <= 1, "{}: the step k of a fact is of one phase", name
            )
            return fact

        return apply

    return made


def _entered(part: object) -> tuple[Demand, ...]:
    """An argument of a rule, or a part of one: refused, or what makes its numbers real
    and finite.
    """
    if type(part) in (Atom, Lag, Moment, Vec):
        part.__post_init__()  # type: ignore[attr-defined]
    if not isinstance(part, sp.Basic):
        return ()
    return tuple(
        Demand(e, f"{part} is a real number", strict)
        for e, strict in reality(expression(part))
    )


def _size(c: Expr) -> Demand:
    c = expression(c)
    size = -c if not c.is_Add and c.could_extract_minus_sign() else c
    return Demand(size, "the size of a coefficient")


def _single(fact: Fact, kind: str) -> Moment:
    (moment, c), *more = fact.left.items() or ((one(""), 0),)
    need(
        not more and c == 1 and moment.kind == kind,
        "the left-hand side must be one {}: {}",
        kind,
        fact,
    )
    return moment


# -- rules: Hilbert space

_HILBERT = "Rudin, Real and Complex Analysis, ch. 3 and 4 (L^2 is a Hilbert space)"


@rule(f"Minkowski's inequality: {_HILBERT}")
def minkowski(*parts: tuple[Expr, Vec]) -> Claim:
    """root(sum_j c_j U_j) <= sum_j |c_j| root(U_j)."""
    sizes = tuple(_size(c) for c, _ in parts)
    right = form(
        *(({root(v): d.expr}, sp.S.One) for d, (_, v) in zip(sizes, parts, strict=True))
    )
    return Claim({root(_sum(parts)): sp.S.One}, right, sizes)


@rule(
    "Young's inequality, weighted (Cauchy-Schwarz): Hardy, Littlewood and Polya,"
    " Inequalities, 2.4"
)
def young(weights: Iterable[Expr], *parts: tuple[Expr, Vec]) -> Claim:
    """sq(sum_j c_j U_j) <= sum_j c_j^2 sq(U_j)/w_j for weights w_j > 0 that sum to at
    most 1.
    """
    shares = [expression(w) for w in weights]
    need(len(shares) == len(parts), "{} vectors need as many weights", len(parts))
    right = form(
        *(
            ({sq(v): c**2 / w}, sp.S.One)
            for w, (c, v) in zip(shares, parts, strict=True)
        )
    )
    return Claim({sq(_sum(parts)): sp.S.One}, right, _shares(shares))


def _sum(parts: Iterable[tuple[Expr, Vec]]) -> Vec:
    return Vec.of(pair for c, v in parts for pair in (v * c).terms)


def _shares(weights: Iterable[Expr]) -> tuple[Demand, ...]:
    shares = list(weights)
    positive = (
        Demand(w, "a weight of Young's inequality", strict=True) for w in shares
    )
    return (
        *positive,
        Demand(
            1 - sp.Add(*shares), "the weights of Young's inequality sum to at most 1"
        ),
    )


@rule(
    f"Jensen's inequality for a mean; the mean is an orthogonal projection: {_HILBERT}"
)
def mean_of(v: Vec) -> Claim:
    """root(mean U) <= root(U)."""
    return Claim({root(v.mean()): sp.S.One}, {root(v): sp.S.One})


@rule(f"Id - mean is an orthogonal projection: {_HILBERT}")
def dev_of(v: Vec) -> Claim:
    """root(U - mean U) <= root(U)."""
    return Claim({root(v.dev()): sp.S.One}, {root(v): sp.S.One})


@rule(f"Pythagoras' theorem for the orthogonal projection on the mean: {_HILBERT}")
def projection(v: Vec) -> Claim:
    """sq(mean U) = sq(U) - sq(U - mean U)."""
    right = form(({sq(v): sp.S.One}, 1), ({sq(v.dev()): sp.S.One}, -1))
    return Claim({sq(v.mean()): sp.S.One}, right, equal=True)


@rule("a sum of one term")
def one_step(fact: Fact) -> Claim:
    """From a fact about step k to the same for the sums over the steps, where K <= 1:
    then sum_{j<K} U_j = U_k.
    """
    need(len(fact.phases) == 1, "the fact is about no local step: {}", fact)
    (phase,) = fact.phases
    K = BLOCKS[phase].K
    left, right = _of_only_step(fact.left, K), _of_only_step(fact.right, K)
    alone = Demand(1 - K, "a round has one local step")
    return Claim(left, right, (alone,), fact.equal)


def _of_only_step(linear: Form, K: Expr) -> Form:
    """The moments of step k = 0, with the sums over the steps in place of that step."""
    parts = []
    for moment, c in linear.items():
        vec, other = moment.vec.only_step(K), moment.other.only_step(K)
        summed = moment if moment.steps else replace(moment, vec=vec, other=other)
        parts.append(({summed: c.subs({k: 0, K: 1})}, sp.S.One))
    return form(*parts)


@rule(f"|| sum_j U_j || <= sum_j ||U_j|| and Cauchy-Schwarz: {_HILBERT}")
def steps_mean(v: Vec) -> Claim:
    """root(sum_{j<K} U_j) <= K root[mean k](U)."""
    K = v.count
    return Claim({root(v.sum(K)): sp.S.One}, {root(v).at(steps="mean"): K})


@rule(f"Minkowski's inequality for weights that are not negative: {_HILBERT}")
def steps_max(v: Vec, n: Expr, weights: Lag = PLAIN, upto: Expr | None = None) -> Claim:
    """root(sum_{j<n} c(n-j) U_j) <= (sum of the weights) root[max k](U), n = k or K;
    for n = k the weights of all k, or no less: of ``upto`` = K - 1 or K steps.
    """
    K = v.count
    need(
        upto is None or (n == k and upto in (K - 1, K)),
        "k < K steps are at most K - 1 or K",
    )
    total = weights.whole(n if upto is None else upto)
    return Claim(
        {root(v.sum(n, weights)): sp.S.One},
        {root(v).at(steps="max"): total},
        (Demand(weights.weight, "a weight of a step"),),
    )


@rule(
    f"Minkowski's inequality for weights that are not negative: {_HILBERT}; induction"
    " over the steps"
)
def steps_sum(fact: Fact, weights: Lag) -> Claim:
    """From root(U_k) <= a C(k) + b, C(k) the sum of the weights of k steps, to
    root(sum_{j<K} c(K-j) U_j) <= a (sum_{j<K} c(K-j) C(j)) + b (sum of the weights).
    """
    u, each = _single(fact, "root").vec, weights.whole(k)
    need(
        set(fact.left) == {root(u)} and u.free,
        "the bound must be one of this round and step: {}",
        fact,
    )
    right, late, whole = {}, weights.late(u.count), weights.whole(u.count)
    for m, c in fact.right.items():
        size, total = (c / each, late) if k in c.free_symbols else (c, whole)
        need(
            m.kind in ("root", "one") and not m.free and k not in size.free_symbols,
            "({}) {}: varies",
            c,
            m,
        )
        right[m] = size * total
    return Claim(
        {root(u.sum(u.count, weights)): sp.S.One},
        right,
        (Demand(weights.weight, "a weight"),),
    )


@rule(f"polarization: {_HILBERT}")
def polarization(u: Vec, v: Vec) -> Claim:
    """<U, V> = (sq(U) + sq(V) - sq(U - V))/2."""
    right = form(
        ({sq(u): 1}, sp.S.Half), ({sq(v): 1}, sp.S.Half), ({sq(u - v): -1}, sp.S.Half)
    )
    return Claim({inner(u, v): sp.S.One}, right, equal=True)


@rule(f"the product is bilinear: {_HILBERT}")
def bilinear(u: Vec, *parts: tuple[Expr, Vec]) -> Claim:
    """<U, sum_j c_j V_j> = sum_j c_j <U, V_j>."""
    right = form(*(({inner(u, v): expression(c)}, sp.S.One) for c, v in parts))
    return Claim({inner(u, _sum(parts)): sp.S.One}, right, equal=True)


@rule("w_i >= delta: monotonicity of sums", h.WEIGHTS)
def unweigh(v: Vec) -> Claim:
    """root(U/w) <= root(U)/delta: every push-sum weight is at least delta."""
    return Claim({root(v.pushed()): sp.S.One}, {root(v): 1 / s.delta})


@rule("w_i >= delta: monotonicity of sums", h.WEIGHTS)
def weigh(v: Vec) -> Claim:
    """root(U) <= delta^(-1/2) (the root with the weights w_i/m): every push-sum weight
    is at least delta.
    """
    return Claim({root(v): sp.S.One}, {root(v, weighted=True): 1 / sp.sqrt(s.delta)})


# -- rules: gradients and samples

_NESTEROV = "Nesterov, Lectures on Convex Optimization, 2nd ed., 1.2"


@rule(f"Lipschitz gradients: {_NESTEROV}", h.SMOOTH)
def lipschitz(alg: Algorithm, u: Vec, v: Vec, block: str | None = None) -> Claim:
    """root(grad f_i(U_i) - grad f_i(V_i)) <= L root(U - V); of blocks b and c: L_b for
    c = b, else chi sqrt(L_b L_c), for the part of the gradients in b and points that
    differ in c.
    """
    bends = alg.grad(u, block) - alg.grad(v, block)
    here, there = BLOCKS[bends.block].L, BLOCKS[(u - v).block].L
    steep = here if here == there else s.chi * sp.sqrt(here * there)
    return Claim({root(bends): sp.S.One}, {root(u - v): steep})


@rule(f"the descent lemma: {_NESTEROV}, Lemma 1.2.3", h.SMOOTH)
def descent(alg: Algorithm, u: Vec, d: Vec) -> Claim:
    """value(U + D) - value(U) <= <grad f_i(U_i), D> + (L/2) sq(D) for D in one block;
    where all clients share D, grad f stands for grad f_i.
    """
    need(d.terms, "the step is 0: there is no descent")
    g = alg.grad(u, d.block)
    right = {
        inner(g.mean() if d.common else g, d): sp.S.One,
        sq(d): BLOCKS[d.block].L / 2,
    }
    return Claim(form(({value(u + d): sp.S.One}, 1), ({value(u): sp.S.One}, -1)), right)


@rule("the assumption itself", h.DIVERSITY)
def diversity(alg: Algorithm, u: Vec) -> Claim:
    """root(grad f_i(u) - grad f(u)) <= sigma_g at a common u; of two blocks delta_u,
    for the shared part of the gradients at the mean of the models and the personal
    parts of the next round.
    """
    need(
        alg.kept is None or u == X.within("u").mean() + alg.kept,
        "the diversity is not assumed at {}",
        u,
    )
    return Claim(
        {root(alg.grad(u) - alg.full(u)): sp.S.One},
        {one("diversity"): BLOCKS[alg.shared].diversity},
    )


@rule("the assumption itself", h.BOUNDED)
def bounded(alg: Algorithm, first: bool = False) -> Claim:
    """root(g_k) <= B: the full gradients at the local models; ``first``: at the states,
    where step 0 is.
    """
    need(
        not first or alg.first == X,
        "the local steps start at {}, not at the states",
        alg.first,
    )
    return Claim({root(alg.grad(X) if first else G): sp.S.One}, {one("gradient"): s.B})


@rule("the assumption itself", h.MOMENT)
def second_moment(alg: Algorithm) -> Claim:
    """root(g_k + n_k + e_k) <= sqrt(S2): the stochastic gradients."""
    return Claim({root(SAMPLED): sp.S.One}, {one("moment"): sp.sqrt(s.S2)})


@rule("the assumption itself", h.VARIANCE)
def variance(alg: Algorithm, part: Vec = N) -> Claim:
    """root(n_k) <= sigma_l; of blocks sigma_v and sigma_u."""
    need(part == N.within(part.block), "{} is not the noise of a sample", part)
    return Claim({root(part): sp.S.One}, {one("noise"): BLOCKS[part.block].noise})


@rule(
    "||grad F_i(y + d; xi) - grad F_i(y; xi)|| <= L ||d||, ||d|| <= rho, on one"
    " minibatch; conditional means contract L^2: Williams, Probability with"
    " Martingales, 9.7",
    h.SAMPLE_SMOOTH,
)
def sam(alg: Algorithm, part: Vec) -> Claim:
    """root(U) <= L rho for U = e_k (what SAM's second gradient adds), its conditional
    mean e^_k given the past, and e_k - e^_k; of two blocks in the shared part alone.
    """
    known = (vec.within(alg.shared) for vec in (E, EHAT, E - EHAT))
    need(
        part in known,
        "{} is not what SAM adds, its conditional mean, or their difference",
        part,
    )
    return Claim({root(part): sp.S.One}, {one("sam"): BLOCKS[alg.shared].L * s.rho})


_WILLIAMS = (
    "martingale differences are orthogonal: Williams, Probability with Martingales,"
    " 12.1"
)


@rule(_WILLIAMS, h.UNBIASED)
def pythagoras(alg: Algorithm, u: Vec, v: Vec) -> Claim:
    """sq(U + V) = sq(U) + sq(V) for the noise V of step k and a U that is known before
    its sample.
    """
    need(v.noise, "{} is not the noise of one local step", v)
    need(u.known(k, v.block), "{} is not known before the sample of step k is drawn", u)
    return Claim(
        {sq(u + v): sp.S.One},
        form(({sq(u): sp.S.One}, 1), ({sq(v): sp.S.One}, 1)),
        equal=True,
    )


@rule(_WILLIAMS, h.UNBIASED)
def unbiased(alg: Algorithm, u: Vec, v: Vec, weights: Lag = PLAIN) -> Claim:
    """<U, sum_{j<K} c(K-j) V_j> = 0 for the noises V_j of a phase's steps and a U known
    when it starts.
    """
    need(v.noise, "{} is not the noise of one local step", v)
    need(
        u.known(None, v.block), "{} is not known at the start of the round or phase", u
    )
    return Claim({inner(u, v.sum(v.count, weights)): sp.S.One}, {}, equal=True)


@rule(_WILLIAMS, h.UNBIASED)
def martingale(bound: Fact, n: Expr, weights: Lag = PLAIN) -> Claim:
    """sq(sum_{j<n} c(n-j) V_j) <= (sum of the squared weights) v for noises with
    sq(V_j) <= v.
    """
    v = _single(bound, "sq").vec
    need(
        set(bound.left) == {sq(v)},
        "the bound must be one of this round and of every step: {}",
        bound,
    )
    need(v.noise, "{} is not the noise of one local step", v)
    need(
        all(
            m.kind == "one" and k not in c.free_symbols for m, c in bound.right.items()
        ),
        "the noise must have a bound that is the same at every step",
    )
    return Claim(
        {sq(v.sum(n, weights)): sp.S.One}, form((bound.right, weights.square_sum(n)))
    )


@rule(
    "the variance of a mean of m independent variables: Williams, Probability with"
    " Martingales, 7.3",
    h.UNBIASED,
    h.INDEPENDENT,
)
def clients(alg: Algorithm, v: Vec) -> Claim:
    """sq(mean V) = sq(V)/m for the noise V of one step."""
    need(v.noise, "{} is not the noise of one local step", v)
    need(
        not any(a.mean for a, _ in v.terms), "the noise is a mean over clients already"
    )
    return Claim({sq(v.mean()): sp.S.One}, {sq(v): 1 / s.m}, equal=True)


# -- rules: the network and the rounds


_OPERATOR_NORM = (
    "||(W - P) U|| <= ||W - P|| ||U||: Horn and Johnson, Matrix Analysis, 5.6"
)


@rule(_OPERATOR_NORM, h.CONTRACTS)
def gossip(alg: Algorithm) -> Claim:
    """root[next](x - mean x) <= lam root(U - mean U), one gossip step a round, for the
    U that is sent.
    """
    need(
        alg.gossips == 1,
        "a round of {} gossip steps multiplies as many contractions",
        alg.gossips,
    )
    distance = root(X.within(alg.shared).dev())
    return Claim({distance.at(rounds="next"): sp.S.One}, {root(alg.sent.dev()): s.lam})


@rule(
    f"{_OPERATOR_NORM}; W of one gossip step is independent of those before",
    h.CONTRACTS,
    h.FRESH,
)
def gossip_steps(alg: Algorithm) -> Claim:
    """root[next](x - mean x) <= lam^Q root(U - mean U), Q gossip steps, for the U that
    is sent.
    """
    whole = type(alg.gossips) is sp.Integer or alg.gossips in (s.Q, sp.S.One)
    need(
        whole and alg.gossips.is_positive,
        "{} is no number of gossip steps",
        alg.gossips,
    )
    distance = root(X.within(alg.shared).dev())
    return Claim(
        {distance.at(rounds="next"): sp.S.One},
        {root(alg.sent.dev()): s.lam**alg.gossips},
    )


@rule(
    "sigma_2(D'^(-1/2) P D^(1/2)) <= q: Horn and Johnson, Matrix Analysis, 5.6",
    h.WEIGHTS,
    h.PUSHES,
)
def push(alg: Algorithm) -> Claim:
    """root_w[next](x - xbar) <= q (root_w(x - xbar) + delta^(-1/2) root(H)), one
    push-sum step a round, for the numerators' move H.
    """
    _need_one_step_of_push_sum(alg)
    distance = root(X - XBAR, weighted=True)
    return Claim(
        {distance.at(rounds="next"): sp.S.One},
        {distance: s.q, root(alg.moved): s.q / sp.sqrt(s.delta)},
    )


def _need_one_step_of_push_sum(alg: Algorithm) -> None:
    need(
        alg.gossips == 1,
        "the contraction is assumed of one push-sum step a round, not of {}",
        alg.gossips,
    )


_CONVOLUTION = (
    "Young's inequality for convolutions: Hardy, Littlewood and Polya, 9.4; Minkowski"
)


@rule(
    f"the sums of q^floor(j/B) and of its squares; {_CONVOLUTION}",
    h.WEIGHTS,
    h.WINDOWED,
)
def push_windows(alg: Algorithm) -> Claim:
    """root_w[mean t](x - xbar) <= (B/(T (1 - q^2)))^(1/2) root_w[start](x - xbar) + ((B
    - 1 + q)/(1 - q)) delta^(-1/2) root[mean t](H), B = window, one push-sum step a
    round, for the numerators' moves H: in every round the norm does not grow, and in
    any B rounds it contracts by q.
    """
    _need_one_step_of_push_sum(alg)
    distance, far = root(X - XBAR, weighted=True), (s.window - 1 + s.q) / (1 - s.q)
    right = {
        distance.at(rounds="start"): sp.sqrt(s.window / (s.T * (1 - s.q**2))),
        root(alg.moved).at(rounds="mean"): far / sp.sqrt(s.delta),
    }
    return Claim(
        {distance.at(rounds="mean"): sp.S.One},
        right,
        (Demand(1 - s.q, "a contraction", strict=True),),
    )


def _recursion(
    fact: Fact,
) -> tuple[Moment, Expr, dict[Moment, Expr], tuple[Demand, ...]]:
    """root[next](U) <= p root(U) + rest, and p, the rest, and what must hold of p."""
    after = _single(fact, "root")
    need(after.rounds == "next", "the recursion must bound a root at the next round")
    now = after.at(rounds="")
    rest = dict(fact.right)
    p = rest.pop(now, sp.S.Zero)
    need(
        all(m.kind in ("root", "one") and not m.rounds and not m.free for m in rest)
        and not now.free,
        "the rest of the recursion must be roots of this round: {}",
        fact,
    )
    signs = (Demand(c, "a coefficient of the recursion") for c in rest.values())
    return (
        now,
        p,
        rest,
        (
            Demand(p, "a contraction"),
            Demand(1 - p, "a contraction", strict=True),
            *signs,
        ),
    )


@rule(_CONVOLUTION)
def convolution(fact: Fact) -> Claim:
    """From root[next](U) <= p root(U) + sum_j c_j b_j in every round: root[mean t](U)
    <= root[start](U)/sqrt(T (1 - p^2)) + (1/(1 - p)) sum_j c_j b_j[mean t].
    """
    now, p, rest, demands = _recursion(fact)
    right = {
        m if m.kind == "one" else m.at(rounds="mean"): c / (1 - p)
        for m, c in rest.items()
    }
    started = {now.at(rounds="start"): 1 / sp.sqrt(s.T * (1 - p**2))}
    return Claim(
        {now.at(rounds="mean"): sp.S.One}, form((right, 1), (started, 1)), demands
    )


@rule("induction over the rounds")
def invariant(fact: Fact, start: Fact) -> Claim:
    """From root[next](U) <= p root(U) + c in every round and root[start](U) <= 0:
    root(U) <= c/(1 - p).
    """
    now, p, rest, demands = _recursion(fact)
    need(
        _single(start, "root") == now.at(rounds="start") and not start.right,
        "the start must be 0",
    )
    need(all(m.kind == "one" for m in rest), "the recursion must add constants")
    return Claim({now: sp.S.One}, {m: c / (1 - p) for m, c in rest.items()}, demands)


@rule("the sum over the rounds; a square is not negative")
def sum_rounds(fact: Fact) -> Claim:
    """From sq[next](U) <= r in every round: sq[mean t](U) <= sq[start](U)/T + r[mean
    t], because the first T squares are the first one and at most the next T.
    """
    after = _single(fact, "sq")
    need(after.rounds == "next", "a square at the next round must be bounded: {}", fact)
    now = after.at(rounds="")
    need(not now.free, "{} still depends on the step", now)
    need(
        all(m.kind != "root" for m in fact.right),
        "the mean over the rounds is taken of squares, not of roots: {}",
        fact,
    )
    right = form(
        (_over(fact.right, set(), rounds="mean"), 1),
        ({now.at(rounds="start"): 1 / s.T}, 1),
    )
    return Claim({now.at(rounds="mean"): sp.S.One}, right)


@rule("the assumption itself", h.COMMON)
def common_start(alg: Algorithm) -> Claim:
    """root[start](x - mean x) <= 0."""
    return Claim({root(X.dev()).at(rounds="start"): sp.S.One}, {})


@rule(
    "the definitions (push-sum: w = 1 at the start); Id - mean is an orthogonal"
    f" projection: {_HILBERT}"
)
def any_start(
    alg: Algorithm, pushed: bool = False, size: sp.Symbol = s.x0_spread
) -> Claim:
    """root[start](x - mean x) <= sqrt(x0_spread) <= sqrt(x0_sq); push-sum:
    root_w[start](x - xbar).
    """
    need(size in (s.x0_spread, s.x0_sq), "{} is no size of the start", size)
    distance = (
        root(X - XBAR, weighted=True) if pushed else root(X.within(alg.shared).dev())
    )
    return Claim({distance.at(rounds="start"): sp.S.One}, {one("start"): sp.sqrt(size)})


@rule("the algorithm's own line")
def dual_start(alg: Algorithm, v: Vec = DUAL) -> Claim:
    """root[start](U) <= 0 for the dual, its mean, or what is left of it without the
    mean.
    """
    return Claim({alg.root_of_dual(v).at(rounds="start"): sp.S.One}, {})


@rule("the algorithm's own line")
def next_dual(alg: Algorithm, v: Vec = DUAL) -> Claim:
    """root[next](U) = root(what the algorithm makes of U) for the same U as in
    dual_start.
    """
    after = alg.root_of_dual(v).at(rounds="next")
    return Claim({after: sp.S.One}, {root(alg.following(v)): sp.S.One}, equal=True)


@rule("telescoping sum", h.BELOW, h.KEPT)
def telescope(alg: Algorithm, fact: Fact) -> Claim:
    """From E f(w^{t+1}) - E f(w^t) <= r_t at the mean model w in every round: 0 <=
    f0_gap/T + mean of r_t.
    """
    w = alg.mean_model
    need(
        w.known(None, "v") and w.part(alg.shared).common,
        "the mean model is a mean of states",
    )
    first = Vec.of((a, c) for a, c in w.terms if a.name != "dual")
    starts = (
        (X.mean(), XBAR)
        if alg.kept is None
        else (X.within("u").mean() + X.within("v"),)
    )
    need(
        first in starts,
        "the mean model does not start where f0_gap is taken, but at {}",
        first,
    )
    after = alg.following(w)
    need(after != w, "the mean model does not move: there is no change of f to sum")
    change = form(({value(after): sp.S.One}, 1), ({value(w): sp.S.One}, -1))
    need(fact.left == change, "the left-hand side is not f's change in a round")
    need(
        all(m.kind != "root" for m in fact.right),
        "the mean over the rounds is taken of squares, not of roots: {}",
        fact,
    )
    return Claim(
        {},
        form(
            (_over(fact.right, set(), rounds="mean"), 1),
            ({one("f"): s.f0_gap / s.T}, 1),
        ),
    )


# -- rules: linear combinations

_ORDER = "an ordered vector space"


def _over(linear: Form, phases: set[str], **where: str) -> Form:
    """A linear form's moments over all steps or rounds, and the means of its
    coefficients over the steps.
    """
    steps, moved = "steps" in where, {}
    for m, c in linear.items():
        varies = m.free if steps else m.kind != "one"
        need(
            m.kind != "value" and not (varies and m.rounds),
            "{} has nothing over {}",
            m,
            where,
        )
        need(
            steps or not (m.free or k in c.free_symbols),
            "{} still depends on the step",
            m,
        )
        if k in c.free_symbols:
            need(
                not varies and where["steps"] == "mean",
                "({}) {}: has no mean over the steps",
                c,
                m,
            )
            K = BLOCKS[next(iter(phases), "")].K
            c = sp.factor(sp.summation(sp.expand(c), (k, 0, K - 1)) / K)
        moved = form((moved, 1), ({m.at(**where) if varies else m: c}, 1))
    return moved


@rule("the mean of inequalities; for roots Minkowski's inequality in L^2")
def average(fact: Fact, index: str) -> Claim:
    """The mean over the steps (index k) or the rounds (index t) of a fact about
    squares, or about one root whose coefficients do not depend on the index.
    """
    where = {"k": {"steps": "mean"}, "t": {"rounds": "mean"}}[index]
    if all(m.kind != "root" for m in (*fact.left, *fact.right)):
        left, right = (
            _over(side, fact.phases, **where) for side in (fact.left, fact.right)
        )
        return Claim(left, right, equal=fact.equal)
    return _normed(fact, "root", where)


@rule("the largest of finitely many numbers")
def largest(fact: Fact) -> Claim:
    """The largest over the steps of one root or square, from a fact of this kind that
    holds at every step.
    """
    return _normed(
        fact,
        "sq" if any(m.kind == "sq" for m in fact.left) else "root",
        {"steps": "max"},
    )


def _normed(fact: Fact, kind: str, where: dict[str, str]) -> Claim:
    left, right = _single(fact, kind), fact.right
    need(left.free or "rounds" in where, "{} does not depend on the step", left)
    for m, c in right.items():
        need(
            m.kind in (kind, "one") and k not in c.free_symbols,
            "({}) {}: is no {} without k",
            c,
            m,
            kind,
        )
    signs = tuple(Demand(c, "a coefficient") for c in right.values())
    return Claim(_over(fact.left, set(), **where), _over(right, set(), **where), signs)


@rule(_ORDER)
def chain(fact: Fact, *others: Fact) -> Claim:
    """Moments on the right of a fact replaced by bounds of them, one after the other; a
    coefficient must not be negative, save where the two are equal.
    """
    right, demands = dict(fact.right), []
    for by in others:
        ((moment, c),) = (
            by.left.items() if len(by.left) == 1 else ((one(""), sp.S.Zero),)
        )
        need(c == 1, "one moment alone must stand on the left: {}", by)
        need(moment in right, "{} is not in {}", moment, fact)
        here = right.pop(moment)
        demands += (
            [] if by.equal else [Demand(here, f"replaces {moment} by a bound of it")]
        )
        right = form((right, 1), (by.right, here))
    return Claim(
        fact.left, right, tuple(demands), fact.equal and all(f.equal for f in others)
    )


@rule(_ORDER)
def weaken(fact: Fact, new: Mapping[Moment, Expr]) -> Claim:
    """Larger coefficients on the right for moments that are not negative."""
    need(
        all(m.kind in ("sq", "root", "one") for m in new),
        "only squares, roots and constants have a sign",
    )
    demands = (
        Demand(c - fact.right.get(m, 0), f"enlarges the coefficient of {m}")
        for m, c in new.items()
    )
    return Claim(fact.left, {**fact.right, **new}, tuple(demands))


@rule(_ORDER)
def label(fact: Fact, name: str) -> Claim:
    """The constants on the right under one name."""
    total = sp.Add(*(c for m, c in fact.right.items() if m.kind == "one"))
    rest = {m: c for m, c in fact.right.items() if m.kind != "one"}
    return Claim(fact.left, form((rest, 1), ({one(name): total}, 1)), equal=fact.equal)


@rule(_ORDER)
def add(weights: Iterable[Expr], *facts: Fact) -> Claim:
    """From l_j <= r_j to sum_j c_j l_j <= sum_j c_j r_j, where no c_j is negative."""
    pairs = [(f, expression(c)) for c, f in zip(weights, facts, strict=True)]
    signs = tuple(Demand(c, "a weight of a fact") for _, c in pairs)
    return Claim(
        form(*((f.left, c) for f, c in pairs)),
        form(*((f.right, c) for f, c in pairs)),
        signs,
    )


@rule(_ORDER)
def solve(fact: Fact, left: Form | None = None, times: Expr | None = None) -> Claim:
    """From l <= r to M <= M + c (r - l), c > 0: M one moment (that of l by default)
    and 1/c what it has in l - r, or M and c as given.
    """
    wanted, rest = dict(left or fact.left), form((fact.right, 1), (fact.left, -1))
    if times is None:
        ((moment, number),) = wanted.items()
        need(
            number == 1 and moment in rest,
            "{} alone must be wanted, and in {}",
            moment,
            fact,
        )
        share = -rest.pop(moment)
    else:
        share, rest = (
            1 / expression(times),
            form((rest, 1), (wanted, 1 / expression(times))),
        )
    return Claim(
        wanted,
        form((rest, 1 / share)),
        (Demand(share, f"divides by {share}", strict=True),),
    )


@rule(
    "Young's inequality, weighted (Cauchy-Schwarz): Hardy, Littlewood and Polya,"
    " Inequalities, 2.4"
)
def square(fact: Fact, weights: Mapping[Moment, Expr] | None = None) -> Claim:
    """From root(U) <= sum_j c_j r_j to sq(U) <= sum_j c_j^2 r_j^2/w_j, weights w_j > 0
    of sum at most 1.
    """
    left = _single(fact, "root")
    shares = dict(weights or dict.fromkeys(fact.right, sp.S.One))
    need(
        set(fact.right) <= set(shares),
        f"each of {', '.join(map(str, fact.right))} needs a weight",
    )
    need(
        all(m.kind in ("root", "one") for m in fact.right),
        "the right-hand side must be of roots: {}",
        fact,
    )
    right = form(
        *(({_kind(m, "sq"): c**2 / shares[m]}, sp.S.One) for m, c in fact.right.items())
    )
    return Claim({_kind(left, "sq"): sp.S.One}, right, _shares(shares.values()))


def _kind(m: Moment, kind: str) -> Moment:
    return m if m.kind == "one" else replace(m, kind=kind)


@rule(
    "(a + b)^(1/2) <= a^(1/2) + b^(1/2): Hardy, Littlewood and Polya, Inequalities,"
    " 2.10"
)
def take_root(fact: Fact) -> Claim:
    """From sq(U) <= sum_j c_j r_j^2 to root(U) <= sum_j c_j^(1/2) r_j."""
    left = _single(fact, "sq")
    need(
        all(m.kind in ("sq", "one") for m in fact.right),
        "the right-hand side must be of squares: {}",
        fact,
    )
    right = form(
        *(({_kind(m, "root"): sp.sqrt(c)}, sp.S.One) for m, c in fact.right.items())
    )
    signs = tuple(Demand(c, "a root of a coefficient") for c in fact.right.values())
    return Claim({_kind(left, "root"): sp.S.One}, right, signs)


RULES: Mapping[str, Rule] = MappingProxyType(_MADE)
