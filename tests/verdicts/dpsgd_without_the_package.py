"""D-PSGD on quadratics in plain PyTorch, run as a program.

It writes measurements to a CSV file and does not import dfltheory.

Usage: PROGRAM PROBLEM.json OUT.csv
"""

import csv
import json
import sys

import torch

torch.set_default_dtype(torch.float64)
with open(sys.argv[1]) as file:
    problem = json.load(file)
A, b = torch.tensor(problem["A"]), torch.tensor(problem["b"])  # (m, d, d), (m, d)
W = torch.tensor(problem["W"])  # (m, m)
eta, sigma, T = problem["eta"], problem["sigma"], problem["T"]
m, d = b.shape


def f(x):
    return (0.5 * (x - b) * gradients(x.expand(m, d))).sum(1).mean()


def gradients(x):  # gradients of each client at its own model, (m, d)
    return torch.einsum("mij,mj->mi", A, x - b)


with open(sys.argv[2], "w", newline="") as out:
    table = csv.writer(out)
    table.writerow(["seed", "round", "grad_norm_sq", "loss", "model_sq", "consensus"])
    for seed in range(problem["seeds"]):
        torch.manual_seed(seed)
        x = torch.zeros(m, d)
        for t in range(T + 1):
            mean = x.mean(0)
            norm = (gradients(mean.expand(m, d)).mean(0) ** 2).sum()
            spread = ((x - mean) ** 2).sum(1).mean()
            row = [norm, f(mean), (x**2).sum(1).mean(), spread]
            table.writerow([seed, t, *(float(value) for value in row)])
            noise = sigma / d**0.5 * torch.randn(m, d)
            x = W @ (x - eta * (gradients(x) + noise))
