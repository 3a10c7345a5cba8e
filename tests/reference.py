"""The algorithms as the papers print them: one client at a time, one step at a time, plain numpy.

Slow on purpose, and obvious on purpose. Every function takes the same words:

x0 : list of m vectors, the starting models
gradient(i, y, xi) : stochastic gradient of client i at y on minibatch xi
draws[t][k][i] : the minibatch of client i at local step k of round t
W[t] : list of the matrices of round t, one for every gossip step

and returns the list over rounds 0..T of the list of the clients' models.
"""

import numpy as np


def norm(v):
    return np.sqrt(sum(float(a) * float(a) for a in v))


def sam_gradient(gradient, i, y, xi, rho):
    """grad F_i(y + rho g/||g||; xi), g = grad F_i(y; xi): both on xi."""
    g = gradient(i, y, xi)
    if rho == 0:
        return g
    length = norm(g)
    return g if length == 0 else gradient(i, y + rho * g / length, xi)


def neighbours_average(matrix, z):
    """x_i = sum_l w_il z_l."""
    m = len(z)
    averaged = []
    for i in range(m):
        total = np.zeros_like(z[i])
        for l in range(m):
            total = total + matrix[i, l] * z[l]
        averaged.append(total)
    return averaged


def dpsgd(x0, gradient, draws, W, eta, order="combine-then-adapt", decay=1.0):
    x = [v.copy() for v in x0]
    path = [x]
    for t in range(len(W)):
        g = [gradient(i, x[i], draws[t][0][i]) for i in range(len(x))]
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
                g = sam_gradient(gradient, i, y, draws[t][k][i], rho)
                y = y - eta * decay**t * (g + weight_decay * y)
            z.append(y)
        for q in range(Q):
            z = neighbours_average(W[t][q], z)
        x = z
        path.append(x)
    return path


def dfedavg(x0, gradient, draws, W, eta, K, **options):
    return dfedsam(x0, gradient, draws, W, eta, K, rho=0.0, Q=1, **options)


def dfedavgm(x0, gradient, draws, W, eta, K, alpha, keep_momentum=False):
    """The heavy ball in Sun et al.'s form y_{k+1} = y_k - eta g_k + alpha (y_k - y_{k-1})."""
    x = [v.copy() for v in x0]
    velocity = [np.zeros_like(v) for v in x0]
    path = [x]
    for t in range(len(W)):
        z = []
        for i in range(len(x)):
            y = x[i].copy()
            before = y.copy() if not keep_momentum else y + eta * velocity[i]
            for k in range(K):
                g = gradient(i, y, draws[t][k][i])
                y, before = y - eta * g + alpha * (y - before), y
            velocity[i] = (before - y) / eta
            z.append(y)
        x = neighbours_average(W[t][0], z)
        path.append(x)
    return path
