"""The algorithms as printed in the papers: one client and one step at a time, in numpy.

They are deliberately slow and simple. All functions have the same arguments:

x0 : list of m vectors, the starting models
gradient(i, y, xi) : stochastic gradient of client i at y on minibatch xi
draws[t][k][i] : the minibatch of client i at local step k of round t
W[t] : list of the matrices of round t, one for every gossip step
decay : the step size of round t is eta * decay^t
weight_decay : every gradient has weight_decay * y added, where y is the start of the
    step, even with SAM

They return the list over rounds 0..T of the list of the clients' models.
"""

import numpy as np


def norm(v):
    return np.sqrt(sum(float(a) * float(a) for a in v))


def sam_gradient(gradient, i, y, xi, rho, weight_decay=0.0):
    """Return grad F_i(y + rho g/

    g

    ; xi) with g = grad F_i(y; xi), both on xi.
    """
    g = gradient(i, y, xi)
    length = norm(g)
    if rho > 0 and length > 0:
        g = gradient(i, y + rho * g / length, xi)
    return g + weight_decay * y


def neighbours_average(matrix, z):
    """Return x_i = sum_l w_il z_l."""
    m = len(z)
    averaged = []
    for i in range(m):
        total = np.zeros_like(z[i])
        for l in range(m):
            total = total + matrix[i, l] * z[l]
        averaged.append(total)
    return averaged


def dpsgd(
    x0, gradient, draws, W, eta, order="combine-then-adapt", decay=1.0, weight_decay=0.0
):
    x = [v.copy() for v in x0]
    path = [x]
    for t in range(len(W)):
        g = [
            gradient(i, x[i], draws[t][0][i]) + weight_decay * x[i]
            for i in range(len(x))
        ]
        step = eta * decay**t
        if order == "combine-then-adapt":
            mixed = neighbours_average(W[t][0], x)
            x = [mixed[i] - step * g[i] for i in range(len(x))]
        else:
            x = neighbours_average(W[t][0], [x[i] - step * g[i] for i in range(len(x))])
        path.append(x)
    return path


def dfedsam(x0, gradient, draws, W, eta, K, rho=0.0, Q=1, decay=1.0, weight_decay=0.0):
    x = [v.copy() for v in x0]
    path = [x]
    for t in range(len(W)):
        z = []
        for i in range(len(x)):
            y = x[i].copy()
            for k in range(K):
                y = y - eta * decay**t * sam_gradient(
                    gradient, i, y, draws[t][k][i], rho, weight_decay
                )
            z.append(y)
        for q in range(Q):
            z = neighbours_average(W[t][q], z)
        x = z
        path.append(x)
    return path


def dfedavg(x0, gradient, draws, W, eta, K, **options):
    return dfedsam(x0, gradient, draws, W, eta, K, rho=0.0, Q=1, **options)


def dfedavgm(
    x0,
    gradient,
    draws,
    W,
    eta,
    K,
    alpha,
    keep_momentum=False,
    decay=1.0,
    weight_decay=0.0,
):
    """The heavy ball in Sun et al.'s form y_{k+1} = y_k - eta g_k + alpha (y_k -
    y_{k-1}).
    """
    x = [v.copy() for v in x0]
    velocity = [np.zeros_like(v) for v in x0]
    path = [x]
    for t in range(len(W)):
        z = []
        step = eta * decay**t
        for i in range(len(x)):
            y = x[i].copy()
            before = y.copy() if not keep_momentum else y + step * velocity[i]
            for k in range(K):
                g = gradient(i, y, draws[t][k][i]) + weight_decay * y
                y, before = y - step * g + alpha * (y - before), y
            velocity[i] = (before - y) / step
            z.append(y)
        x = neighbours_average(W[t][0], z)
        path.append(x)
    return path


def push_sum(
    x0, gradient, draws, W, eta, K=1, alpha=0.0, rho=0.0, decay=1.0, weight_decay=0.0
):
    """SGP, OSGP, DFedSGPM, DFedSGPSM line by line: v is reset, z = x / w, w is mixed by
    the same P.
    """
    m = len(x0)
    x = [v.copy() for v in x0]
    w = [1.0] * m
    path = [x]
    for t in range(len(W)):
        half = []
        for i in range(m):
            y = x[i].copy()
            v = np.zeros_like(y)
            for k in range(K):
                z = y / w[i]
                g = sam_gradient(gradient, i, z, draws[t][k][i], rho, weight_decay)
                v = alpha * v + g
                y = y - eta * decay**t * v
            half.append(y)
        P = W[t][0]
        x = [sum(P[i, j] * half[j] for j in range(m)) for i in range(m)]
        w = [sum(P[i, j] * w[j] for j in range(m)) for i in range(m)]
        path.append([x[i] / w[i] for i in range(m)])
    return path


def dfedadmm(x0, gradient, draws, W, eta, K, lam, rho=0.0, decay=1.0, weight_decay=0.0):
    m = len(x0)
    x = [v.copy() for v in x0]
    dual = [np.zeros_like(v) for v in x0]
    path = [x]
    for t in range(len(W)):
        z = []
        for i in range(m):
            y = x[i].copy()
            for k in range(K):
                g = sam_gradient(gradient, i, y, draws[t][k][i], rho, weight_decay)
                y = y - eta * decay**t * (g - dual[i] + (y - x[i]) / lam)
            z.append(y - lam * dual[i])
            dual[i] = dual[i] - (y - x[i]) / lam
        x = neighbours_average(W[t][0], z)
        path.append(x)
    return path


def auxiliary_sequence(means, eta, K, lam):
    """w^t = xbar^t + (1 - gamma)/gamma (xbar^t - xbar^{t-1}), xbar^{-1} = xbar^0."""
    gamma = sum(eta / lam * (1 - eta / lam) ** (K - 1 - k) for k in range(K))
    before = [means[0], *means[:-1]]
    return [
        now + (1 - gamma) / gamma * (now - then) for now, then in zip(means, before)
    ]


def block_steps(gradient, i, y, xis, block, eta, rho=0.0, alpha=0.0, weight_decay=0.0):
    """Take one step per minibatch on the coordinates in ``block``; the others are
    fixed.
    """
    y = y.copy()
    v = np.zeros(len(block))
    for xi in xis:
        g = gradient(i, y, xi)[block]
        if rho > 0:
            point = y.copy()
            point[block] = point[block] + rho * g / norm(g)
            g = gradient(i, point, xi)[block]
        v = alpha * v + g + weight_decay * y[block]
        y[block] = y[block] - eta * v
    return y


def mixed_bodies(matrix, z, u):
    averaged = neighbours_average(matrix, z)
    x = []
    for i in range(len(z)):
        new = z[i].copy()
        new[u] = averaged[i][u]
        x.append(new)
    return x


def dfedmdc(
    x0,
    gradient,
    draws,
    W,
    u,
    v,
    eta_u,
    eta_v,
    K_u,
    K_v,
    rho=0.0,
    sam="u",
    fresh=True,
    decay=1.0,
    **options,
):
    x = [a.copy() for a in x0]
    path = [x]
    rho_u, rho_v = (rho if block in sam else 0.0 for block in "uv")
    for t in range(len(W)):
        z = []
        for i in range(len(x)):
            heads = (
                [draws[t][k][i] for k in range(K_v)]
                if fresh
                else [draws[t][0][i]] * K_v
            )
            bodies = (
                [draws[t][K_v + k][i] for k in range(K_u)]
                if fresh
                else [draws[t][0][i]] * K_u
            )
            y = block_steps(
                gradient, i, x[i], heads, v, eta_v * decay**t, rho_v, **options
            )
            y = block_steps(
                gradient, i, y, bodies, u, eta_u * decay**t, rho_u, **options
            )
            z.append(y)
        x = mixed_bodies(W[t][0], z, u)
        path.append(x)
    return path


def dispfl(
    x0,
    gradient,
    draws,
    W,
    masks,
    blocks,
    eta,
    K,
    prune,
    clip,
    order,
    decay=1.0,
    weight_decay=0.0,
    **first,
):
    """Follow the rounds of github.com/rong-dai/DisPFL (e2f47d4) from the first training
    on.

    ``masks`` are those of round 0, whose size is determined by ``first`` (sparsity,
    density). Their code does not have the ``order`` search-then-send.
    """
    m, d, T = len(x0), len(x0[0]), len(W)
    own = [[int(a[j]) for j in range(d)] for a in masks]
    x = [np.array([x0[i][j] if own[i][j] else 0.0 for j in range(d)]) for i in range(m)]
    path = [x]
    for t in range(T):
        ratio = prune / 2 * (1 + np.cos(t * np.pi / T))
        weights, shared, searched = [], [], []
        for i in range(m):
            y = x[i].copy()
            for k in range(K):
                g = gradient(i, y, draws[t][k][i])
                if norm(g) > clip:
                    g = clip * g / norm(g)
                y = y - eta * decay**t * (g + weight_decay * y)
                for j in range(d):
                    if not own[i][j]:
                        y[j] = 0.0
            screened = gradient(i, y, draws[t][K][i])
            mask = list(own[i])
            for block in blocks:
                alive = [j for j in block if mask[j]]
                removed = int(np.ceil(ratio * len(alive) - 1e-9))
                for j in sorted(alive, key=lambda j: abs(y[j]))[:removed]:
                    mask[j] = 0
                empty = [j for j in block if not mask[j]]
                for j in sorted(empty, key=lambda j: abs(screened[j]), reverse=True)[
                    :removed
                ]:
                    mask[j] = 1
            searched.append(mask)
            if order == "search-then-send":
                y = np.array([y[j] if mask[j] else 0.0 for j in range(d)])
            weights.append(y)
            shared.append(mask if order == "search-then-send" else own[i])
        own, x = searched, []
        for i in range(m):
            averaged = np.zeros(d)
            for j in range(d):
                who = [l for l in range(m) if shared[l][j] and W[t][0][i, l] > 0]
                if own[i][j] and who:
                    total = sum(W[t][0][i, l] for l in who)
                    averaged[j] = (
                        sum(W[t][0][i, l] * weights[l][j] for l in who) / total
                    )
            x.append(averaged)
        path.append(x)
    return path


def dsgt(x0, gradient, draws, W, eta, order, decay=1.0, weight_decay=0.0):
    """Gradient tracking with the y and g that are printed: y^0 = g^0, y^t = W y^{t-1} +
    g^t - g^{t-1}.
    """
    x, m = [v.copy() for v in x0], len(x0)
    path = [x]
    mixed_y, old = [np.zeros_like(v) for v in x0], [np.zeros_like(v) for v in x0]
    for t in range(len(W)):
        g = [gradient(i, x[i], draws[t][0][i]) + weight_decay * x[i] for i in range(m)]
        y = [mixed_y[i] + g[i] - old[i] for i in range(m)]
        step = eta * decay**t
        if order == "combine-then-adapt":
            mixed = neighbours_average(W[t][0], x)
            x = [mixed[i] - step * y[i] for i in range(m)]
        else:
            x = neighbours_average(W[t][0], [x[i] - step * y[i] for i in range(m)])
        mixed_y, old = neighbours_average(W[t][0], y), g
        path.append(x)
    return path


def kgt(x0, gradient, draws, W, eta, K, eta_s, decay=1.0, weight_decay=0.0):
    x, m = [v.copy() for v in x0], len(x0)
    c = [np.zeros_like(v) for v in x0]
    path = [x]
    for t in range(len(W)):
        step, z = eta * decay**t, []
        for i in range(m):
            y = x[i].copy()
            for k in range(K):
                y = y - step * (
                    gradient(i, y, draws[t][k][i]) + weight_decay * y + c[i]
                )
            z.append((x[i] - y) / (K * step))
        mixed_z = neighbours_average(W[t][0], z)
        c = [c[i] - z[i] + mixed_z[i] for i in range(m)]
        x = neighbours_average(
            W[t][0], [x[i] - K * eta_s * step * z[i] for i in range(m)]
        )
        path.append(x)
    return path


def two_rounds_back(x0, gradient, draws, W, eta, decay, weight_decay, first, later):
    """x^1 = first(W^0, x^0, eta g^0); x^{t+1} = later(W^t, W^{t-1}, x^t, x^{t-1}, eta
    (g^t - g^{t-1})).
    """
    x, m = [v.copy() for v in x0], len(x0)
    path, old = [x], None
    for t in range(len(W)):
        g = [
            eta * decay**t * (gradient(i, x[i], draws[t][0][i]) + weight_decay * x[i])
            for i in range(m)
        ]
        if t == 0:
            x = first(W[0][0], x, g)
        else:
            x = later(
                W[t][0], W[t - 1][0], x, path[-2], [g[i] - old[i] for i in range(m)]
            )
        old = g
        path.append(x)
    return path


def extra(x0, gradient, draws, W, eta, decay=1.0, weight_decay=0.0):
    def first(W, x, g):
        return [mixed - own for mixed, own in zip(neighbours_average(W, x), g)]

    def later(W, W_before, x, before, change):
        lazy = [
            (own + mixed) / 2
            for own, mixed in zip(before, neighbours_average(W_before, before))
        ]
        mixed = neighbours_average(W, x)
        return [x[i] + mixed[i] - lazy[i] - change[i] for i in range(len(x))]

    return two_rounds_back(
        x0, gradient, draws, W, eta, decay, weight_decay, first, later
    )


def d2(x0, gradient, draws, W, eta, lazy=False, decay=1.0, weight_decay=0.0):
    def matrix(W):
        return (np.eye(len(W)) + W) / 2 if lazy else W

    def first(W, x, g):
        return neighbours_average(matrix(W), [x[i] - g[i] for i in range(len(x))])

    def later(W, W_before, x, before, change):
        return neighbours_average(
            matrix(W), [2 * x[i] - before[i] - change[i] for i in range(len(x))]
        )

    return two_rounds_back(
        x0, gradient, draws, W, eta, decay, weight_decay, first, later
    )


def qgdsgdm(
    x0, gradient, draws, W, eta, alpha, mu, nesterov=False, decay=1.0, weight_decay=0.0
):
    x, m = [v.copy() for v in x0], len(x0)
    hat = [np.zeros_like(v) for v in x0]
    path = [x]
    for t in range(len(W)):
        step, half = eta * decay**t, []
        for i in range(m):
            g = gradient(i, x[i], draws[t][0][i]) + weight_decay * x[i]
            local = alpha * hat[i] + g
            half.append(x[i] - step * (g + alpha * local if nesterov else local))
        new = neighbours_average(W[t][0], half)
        hat = [mu * hat[i] + (1 - mu) * (x[i] - new[i]) / step for i in range(m)]
        x = new
        path.append(x)
    return path


def chocosgd(
    x0,
    gradient,
    draws,
    W,
    eta,
    gamma,
    compressor,
    share=1.0,
    decay=1.0,
    weight_decay=0.0,
):
    """``estimates[i][j]`` is client i's own copy of the estimate of j's model."""

    def compress(v):
        if compressor == "sign":
            scale = sum(abs(a) for a in v) / len(v)
            return np.array([-scale if a < 0 else scale for a in v])
        kept = sorted(range(len(v)), key=lambda j: abs(v[j]), reverse=True)[
            : round(share * len(v))
        ]
        return np.array([v[j] if j in kept else 0.0 for j in range(len(v))])

    x, m = [v.copy() for v in x0], len(x0)
    estimates = [[np.zeros_like(v) for v in x0] for _ in x0]
    path = [x]
    for t in range(len(W)):
        half = []
        for i in range(m):
            g = gradient(i, x[i], draws[t][0][i]) + weight_decay * x[i]
            half.append(x[i] - eta * decay**t * g)
        sent = [compress(half[i] - estimates[i][i]) for i in range(m)]
        estimates = [[estimates[i][j] + sent[j] for j in range(m)] for i in range(m)]
        x = []
        for i in range(m):
            pull = sum(
                W[t][0][i, j] * (estimates[i][j] - estimates[i][i]) for j in range(m)
            )
            x.append(half[i] + gamma * pull)
        path.append(x)
    return path


def pushpull(x0, gradient, draws, W, eta, order, decay=1.0, weight_decay=0.0):
    """W[t] = (A, B): x is mixed by A, and the printed y by B."""
    x, m = [v.copy() for v in x0], len(x0)
    path, y, old = [x], None, None
    for t in range(len(W)):
        A = W[t][0]
        g = [gradient(i, x[i], draws[t][0][i]) + weight_decay * x[i] for i in range(m)]
        if t == 0:
            y = g
        else:
            mixed = neighbours_average(W[t - 1][1], y)
            y = [mixed[i] + g[i] - old[i] for i in range(m)]
        step, old = eta * decay**t, g
        if order == "adapt-then-combine":
            x = neighbours_average(A, [x[i] - step * y[i] for i in range(m)])
        else:
            x = [
                pulled - step * own for pulled, own in zip(neighbours_average(A, x), y)
            ]
        path.append(x)
    return path


def cooperativesgd(x0, gradient, draws, W, eta, K, decay=1.0, **options):
    """One step per round; after rounds K, 2 K, ..., neighbors average."""
    x = [a.copy() for a in x0]
    everything = list(range(len(x0[0])))
    path = [x]
    for t, matrix in enumerate(W):
        z = [
            block_steps(
                gradient,
                i,
                x[i],
                [draws[t][0][i]],
                everything,
                eta * decay**t,
                **options,
            )
            for i in range(len(x))
        ]
        x = neighbours_average(matrix[0], z) if t % K == K - 1 else z
        path.append(x)
    return path


def adpsgd(x0, gradient, draws, W, eta, decay=1.0, weight_decay=0.0):
    x, m = [v.copy() for v in x0], len(x0)
    path = [x]
    for t in range(len(W)):
        matrix, new = W[t][0], neighbours_average(W[t][0], x)
        for i in range(m):
            if any(matrix[i, j] or matrix[j, i] for j in range(m) if j != i):
                new[i] = new[i] - eta * decay**t * (
                    gradient(i, x[i], draws[t][0][i]) + weight_decay * x[i]
                )
        x = new
        path.append(x)
    return path


def ltadmm(x0, gradient, draws, W, eta, K, lam, beta=None, decay=1.0, weight_decay=0.0):
    """z[i, j] is the dual that i keeps for its neighbor j."""
    x, m, matrix = [v.copy() for v in x0], len(x0), W[0][0]
    beta = eta if beta is None else beta
    near = [[j for j in range(m) if j != i and matrix[i, j]] for i in range(m)]
    z = {(i, j): lam * x0[i] for i in range(m) for j in near[i]}
    path = [x]
    for t in range(len(W)):
        new = []
        for i in range(m):
            y = x[i].copy()
            for k in range(K):
                pull = lam * len(near[i]) * x[i] - sum(z[i, j] for j in near[i])
                slope = gradient(i, y, draws[t][k][i]) + weight_decay * y
                y = y - decay**t * (eta * slope + beta * pull)
            new.append(y)
        z = {(i, j): (z[i, j] - z[j, i] + 2 * lam * new[j]) / 2 for i, j in z}
        x = new
        path.append(x)
    return path


def relaysgd(x0, gradient, draws, W, eta, decay=1.0, weight_decay=0.0):
    """x_i is the mean of all models that can have arrived, delayed by their distance,
    without messages.
    """
    m, matrix = len(x0), W[0][0]
    far = [[0 if i == j else None for j in range(m)] for i in range(m)]
    for hops in range(1, m):
        for i in range(m):
            for j in range(m):
                if far[i][j] == hops - 1:
                    for k in range(m):
                        if matrix[k, j] and far[i][k] is None:
                            far[i][k] = hops
    x, path, stepped = [v.copy() for v in x0], [list(x0)], []
    for t in range(len(W)):
        g = [gradient(i, x[i], draws[t][0][i]) + weight_decay * x[i] for i in range(m)]
        stepped.append([x[i] - eta * decay**t * g[i] for i in range(m)])
        late = [[max(0, far[i][j] - 1) for j in range(m)] for i in range(m)]
        received = [
            [stepped[t - late[i][j]][j] for j in range(m) if late[i][j] <= t]
            for i in range(m)
        ]
        x = [sum(own) / len(own) for own in received]
        path.append(x)
    return path


def server_average(z, active):
    return sum(z[i] for i in active) / len(active)


def fedavg(x0, gradient, draws, active, eta, K, decay=1.0, **options):
    """FedAvg and FedSAM; ``active[t]`` lists the clients sampled in round t."""
    x = [a.copy() for a in x0]
    path = [x]
    for t in range(len(active)):
        everything = list(range(len(x[0])))
        z = list(x)
        for i in active[t]:
            xis = [draws[t][k][i] for k in range(K)]
            z[i] = block_steps(
                gradient, i, x[i], xis, everything, eta * decay**t, **options
            )
        mean = server_average(z, active[t])
        x = [mean.copy() for _ in x]
        path.append(x)
    return path


def localsgd(x0, gradient, draws, active, eta, K, decay=1.0, **options):
    """One step per round; rounds K - 1, 2 K - 1, ... end with the average of all."""
    x, everything = [a.copy() for a in x0], list(range(len(x0[0])))
    path = [x]
    for t in range(len(active)):
        step = eta * decay**t
        x = [
            block_steps(
                gradient, i, x[i], [draws[t][0][i]], everything, step, **options
            )
            for i in range(len(x))
        ]
        if (t + 1) % K == 0:
            x = [server_average(x, range(len(x))) for _ in x]
        path.append(x)
    return path


def easgd(x0, gradient, draws, active, eta, K, decay=1.0, **options):
    """One step per round; after rounds K, 2 K, ..., models and center attract each
    other.
    """
    x, everything = [a.copy() for a in x0], list(range(len(x0[0])))
    center, m = sum(x) / len(x), len(x)
    alpha = 2 / (m + 2)
    path = [x]
    for t in range(len(active)):
        step = eta * decay**t
        x = [
            block_steps(
                gradient, i, x[i], [draws[t][0][i]], everything, step, **options
            )
            for i in range(m)
        ]
        if (t + 1) % K == 0:
            pulled = [(1 - alpha) * z + alpha * center for z in x]
            center = (1 - m * alpha) * center + alpha * sum(x)
            x = pulled
        path.append(x)
    return path


def local(x0, gradient, draws, active, eta, K, decay=1.0, **options):
    x = [a.copy() for a in x0]
    path = [x]
    for t in range(len(active)):
        everything = list(range(len(x[0])))
        xis = [[draws[t][k][i] for k in range(K)] for i in range(len(x))]
        step = eta * decay**t
        x = [
            block_steps(gradient, i, x[i], xis[i], everything, step, **options)
            for i in range(len(x))
        ]
        path.append(x)
    return path


def body_sharing(x0, draws, active, u, phases, finish=None):
    """FedPer, FedRep, FedBABU: ``phases(t, i, y, minibatches)`` is a client's local
    work in round t.
    """
    x = [a.copy() for a in x0]
    path = [x]
    for t in range(len(active)):
        z = [a.copy() for a in x]
        for i in active[t]:
            z[i] = phases(t, i, x[i], [xi[i] for xi in draws[t]])
        mean = server_average(z, active[t])
        for a in z:
            a[u] = mean[u]
        x = z
        if finish is not None and t == len(active) - 1:
            x = [
                finish(t + 1, i, x[i], [xi[i] for xi in draws[-1]])
                for i in range(len(x))
            ]
        path.append(x)
    return path


def fedper(x0, gradient, draws, active, u, v, eta, K, decay=1.0, **options):
    def phases(t, i, y, xis):
        return block_steps(
            gradient, i, y, xis, list(range(len(y))), eta * decay**t, **options
        )

    return body_sharing(x0, draws, active, u, phases)


def fedrep(
    x0, gradient, draws, active, u, v, eta_u, eta_v, K_u, K_v, decay=1.0, **options
):
    def phases(t, i, y, xis):
        y = block_steps(gradient, i, y, xis[:K_v], v, eta_v * decay**t, **options)
        return block_steps(gradient, i, y, xis[K_v:], u, eta_u * decay**t, **options)

    return body_sharing(x0, draws, active, u, phases)


def fedbabu(x0, gradient, draws, active, u, v, eta, K, K_v, decay=1.0, **options):
    def phases(t, i, y, xis):
        return block_steps(gradient, i, y, xis, u, eta * decay**t, **options)

    def finish(t, i, y, xis):
        assert len(xis) == K_v
        return block_steps(
            gradient, i, y, xis, list(range(len(y))), eta * decay**t, **options
        )

    return body_sharing(x0, draws, active, u, phases, finish)


def fedrod(
    x0, gradient, balanced, draws, active, u, v, eta, K, decay=1.0, weight_decay=0.0
):
    """Weight decay acts on the generic model, and separately on the personal head."""
    x = [a.copy() for a in x0]
    p = [np.zeros(len(v)) for _ in x0]
    path = [x]
    for t in range(len(active)):
        z = list(x)
        step = eta * decay**t
        for i in active[t]:
            y = x[i].copy()
            for k in range(K):
                xi = draws[t][k][i]
                point = y.copy()
                point[v] = y[v] + p[i]
                g = balanced(i, y, xi) + weight_decay * y
                p[i] = p[i] - step * (gradient(i, point, xi)[v] + weight_decay * p[i])
                y = y - step * g
            z[i] = y
        mean = server_average(z, active[t])
        x = [mean.copy() for _ in x]
        personal = [a.copy() for a in x]
        for i in range(len(x)):
            personal[i][v] = personal[i][v] + p[i]
        path.append(personal)
    return path


def ditto(x0, gradient, draws, active, eta, K, K_v, lam, decay=1.0, weight_decay=0.0):
    x = [a.copy() for a in x0]
    v = [a.copy() for a in x0]
    path = [v]
    for t in range(len(active)):
        z, new = list(x), list(v)
        step = eta * decay**t
        for i in active[t]:
            y = x[i].copy()
            for k in range(K):
                y = y - step * (gradient(i, y, draws[t][k][i]) + weight_decay * y)
            z[i] = y
            own = v[i].copy()
            for k in range(K_v):
                g = gradient(i, own, draws[t][K + k][i]) + weight_decay * own
                own = own - step * (g + lam * (own - x[i]))
            new[i] = own
        mean = server_average(z, active[t])
        x, v = [mean.copy() for _ in x], new
        path.append(v)
    return path


def fedprox(x0, gradient, draws, active, eta, K, lam, decay=1.0, weight_decay=0.0):
    x, m = x0[0].copy(), len(x0)
    path = [[x] * m]
    for t in range(len(active)):
        ends = []
        for i in active[t]:
            y = x.copy()
            for k in range(K):
                g = gradient(i, y, draws[t][k][i]) + weight_decay * y
                y = y - eta * decay**t * (g + lam * (y - x))
            ends.append(y)
        x = sum(ends) / len(ends)
        path.append([x] * m)
    return path


def scaffold(
    x0, gradient, draws, active, eta, K, eta_s, option, decay=1.0, weight_decay=0.0
):
    """Algorithm 1 line by line: one server model x, one server variate c, the clients'
    c_i.
    """
    x, m = x0[0].copy(), len(x0)
    c, own = np.zeros_like(x), [np.zeros_like(x) for _ in x0]
    path = [[x] * m]
    for t in range(len(active)):
        step, moves, changes = eta * decay**t, [], []
        for i in active[t]:
            y = x.copy()
            for k in range(K):
                g = gradient(i, y, draws[t][k][i]) + weight_decay * y
                y = y - step * (g - own[i] + c)
            if option == "I":
                new = gradient(i, x, draws[t][K][i]) + weight_decay * x
            else:
                new = own[i] - c + (x - y) / (K * step)
            moves.append(y - x)
            changes.append(new - own[i])
            own[i] = new
        x = x + eta_s * sum(moves) / len(moves)
        c = c + sum(changes) / m
        path.append([x] * m)
    return path


def feddyn(x0, gradient, draws, active, eta, K, lam, decay=1.0, weight_decay=0.0):
    """Algorithm 1 line by line, alpha = lam; ``duals`` are its grad L_k(theta_k^t)."""
    x, m = x0[0].copy(), len(x0)
    h, duals = np.zeros_like(x), [np.zeros_like(x) for _ in x0]
    path = [[x] * m]
    for t in range(len(active)):
        ends = []
        for i in active[t]:
            y = x.copy()
            for k in range(K):
                g = gradient(i, y, draws[t][k][i]) + weight_decay * y
                y = y - eta * decay**t * (g - duals[i] + lam * (y - x))
            duals[i] = duals[i] - lam * (y - x)
            ends.append(y)
        h = h - lam * sum(y - x for y in ends) / m
        x = sum(ends) / len(ends) - h / lam
        path.append([x] * m)
    return path


def fedpd(x0, gradient, draws, active, eta, K, lam, R, decay=1.0, weight_decay=0.0):
    """With the paper's multipliers and its eta = 1/lam: x_i, x_0i and
    lambda_i of all clients in turn.
    """
    m, step = len(x0), 1 / lam
    own, server = [v.copy() for v in x0], [v.copy() for v in x0]
    multipliers = [np.zeros_like(v) for v in x0]
    path = [list(server)]
    for t in range(len(active)):
        for i in range(m):
            for k in range(K):
                g = gradient(i, own[i], draws[t][k][i]) + weight_decay * own[i]
                slope = g + multipliers[i] + (own[i] - server[i]) / step
                own[i] = own[i] - eta * decay**t * slope
            multipliers[i] = multipliers[i] + (own[i] - server[i]) / step
            server[i] = own[i] + step * multipliers[i]
        if (t + 1) % R == 0:
            server = [sum(server) / m] * m
        path.append(list(server))
    return path
