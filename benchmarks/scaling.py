"""Time of a round and peak memory for many clients and large models, as a table.

``python -m benchmarks.scaling`` measures all pairs of a number of clients m and a
number of parameters d that fit into memory, each in its own process, and writes the
table of docs/scaling.md. It takes at most 16 minutes on an idle machine.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path

PAGE = Path(__file__).parent.parent / "docs" / "scaling.md"
BEGIN, END = "<!-- begin: measured -->", "<!-- end: measured -->"

CLIENTS = (64, 256, 1024, 4096, 16_384)
PARAMETERS = (10**2, 10**4, 10**5, 10**6, 10**7)
CLASSES = 10
COPIES = 3.5
"""Expected memory of a case, in copies of the stacked parameters."""
LIBRARIES = 0.5e9
"""Bytes used by Python and its libraries."""
SECONDS = 3.0
"""A case performs rounds for at least this time."""
LEAST_ROUNDS = 3
MOST_SECONDS = 15.0
"""A case starts no further round after this time."""
TOTAL_SECONDS = 900.0
"""No further case is started after this time."""


@dataclass(frozen=True)
class Case:
    """DFedAvg with two local steps on a ring, for a linear network of d parameters."""

    clients: int
    parameters: int

    @property
    def model_bytes(self) -> int:
        """Bytes of all clients' models in single precision."""
        return 4 * self.clients * self.parameters

    @property
    def expected_bytes(self) -> float:
        """Bytes that the case is expected to need."""
        return LIBRARIES + COPIES * self.model_bytes


@dataclass(frozen=True)
class Measurement:
    """Median processor seconds of a round, and the resident memory of the process."""

    seconds: float
    rounds: int
    before_bytes: int
    peak_bytes: int


def measure(case: Case) -> Measurement:
    """Measure one case in this process."""
    # first, because it requests huge pages before torch allocates memory
    from dfltheory import algorithms, graphs  # isort: skip
    import numpy as np
    import torch
    from torch import nn

    from dfltheory.tasks.supervised import Supervised
    from dfltheory.training.run import Run

    torch.set_num_threads(1)
    generator = np.random.default_rng(0)

    def new_task(parameters: int) -> Supervised:
        features = parameters // CLASSES
        size = case.clients, features
        examples = generator.standard_normal(size, dtype=np.float32)
        clients = [
            (examples[i : i + 1], np.array([i % CLASSES])) for i in range(case.clients)
        ]
        network = nn.Linear(features, CLASSES, bias=False)
        return Supervised(network, clients, batch=1)

    def new_run(task: Supervised) -> Run:
        algorithm = algorithms.DFedAvg(eta=0.1, K=2)
        return Run(algorithm, task, graphs.ring(case.clients), 10**6, range(1), 0)

    with torch.no_grad():
        new_run(new_task(10 * CLASSES)).round(0)  # loads what libraries load once
    task = new_task(case.parameters)
    before = resident("VmRSS")
    run = new_run(task)
    taken: list[float] = []
    with torch.no_grad():
        run.round(0)  # the first round allocates the buffers
        while not enough(taken):
            start = time.process_time()
            run.round(1 + len(taken))
            taken.append(time.process_time() - start)
    return Measurement(statistics.median(taken), len(taken), before, resident("VmHWM"))


def enough(taken: list[float]) -> bool:
    """Return whether enough rounds were measured, given their durations."""
    total = sum(taken)
    return total >= MOST_SECONDS or (len(taken) >= LEAST_ROUNDS and total >= SECONDS)


def resident(field: str) -> int:
    """Return a field of the resident memory of this process, in bytes.

    Unlike ``ru_maxrss``, the kernel's VmHWM is reset when a program starts.
    """
    try:
        lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    except OSError:  # not Linux
        scale = 1 if sys.platform == "darwin" else 1024
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * scale
    [line] = [line for line in lines if line.startswith(f"{field}:")]
    return 1024 * int(line.split()[1])


def in_child(case: Case) -> Measurement:
    """Measure one case in its own process."""
    command = [sys.executable, "-m", "benchmarks.scaling", "--case"]
    done = subprocess.run(
        [*command, json.dumps(asdict(case))],
        check=True,
        capture_output=True,
        text=True,
        cwd=PAGE.parent.parent,
    )
    return Measurement(**json.loads(done.stdout))


def memory() -> int:
    """Return the size of this machine's memory in bytes."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def cell(case: Case, found: Measurement | None, limit: float) -> str:
    """Return the table cell of a case."""
    if case.expected_bytes > limit:
        return f"needs {case.expected_bytes / 1e9:.0f} GB"
    if found is None:
        return "not measured"
    return f"{duration(found.seconds)}, {found.peak_bytes / 1e9:.2g} GB"


def duration(seconds: float) -> str:
    """Format a time with three digits, in ms below one second."""
    return f"{1e3 * seconds:.3g} ms" if seconds < 1 else f"{seconds:.3g} s"


def table(found: dict[Case, Measurement], limit: float) -> str:
    """Return the table in Markdown, and a sentence on the number of copies."""
    header = ["m", *(f"d = {size:,}" for size in PARAMETERS)]
    rows = [header, ["--:"] * len(header)]
    for m in CLIENTS:
        cases = [Case(m, d) for d in PARAMETERS]
        rows.append([f"{m:,}", *(cell(c, found.get(c), limit) for c in cases)])
    lines = [f"| {' | '.join(row)} |" for row in rows]
    large = {c: f for c, f in found.items() if c.model_bytes > 1e8}
    copies = [(f.peak_bytes - f.before_bytes) / c.model_bytes for c, f in large.items()]
    if copies:
        lines += [
            "",
            "Where the models of all clients take more than 0.1 GB, a run added"
            f" {min(copies):.2f} to {max(copies):.2f} copies of them to the memory of"
            " the process.",
        ]
    return "\n".join(lines)


def write(text: str) -> None:
    """Insert the table into the page."""
    page = PAGE.read_text(encoding="utf-8")
    before, rest = page.split(BEGIN)
    after = rest.split(END)[1]
    PAGE.write_text(f"{before}{BEGIN}\n{text}\n{END}{after}", encoding="utf-8")


def main() -> None:
    """Measure all cases that fit into memory, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    memory_help = "GB of memory to use; 85 %% of the machine's by default"
    parser.add_argument("--memory", type=float, help=memory_help)
    print_help = "print the table instead of writing the page"
    parser.add_argument("--print", action="store_true", help=print_help)
    parser.add_argument("--case", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.case:
        print(json.dumps(asdict(measure(Case(**json.loads(options.case))))))
        return
    limit = 0.85 * memory() if options.memory is None else 1e9 * options.memory
    found: dict[Case, Measurement] = {}
    begun = time.monotonic()
    cases = [Case(m, d) for d in PARAMETERS for m in CLIENTS]
    for case in sorted(cases, key=lambda case: case.model_bytes):
        if case.expected_bytes > limit or time.monotonic() - begun > TOTAL_SECONDS:
            continue
        found[case] = in_child(case)
        print(case, found[case], file=sys.stderr)
    head = (
        f"Measured with one thread of a machine with {os.cpu_count()} cores and"
        f" {memory() / 1e9:.0f} GB, of which at most {limit / 1e9:.0f} GB were used:"
        " median processor time of a round, and the largest resident memory of the"
        " process. Other work on the machine lengthens the times somewhat."
    )
    text = f"{head}\n\n{table(found, limit)}"
    if options.print:
        print(text)
    else:
        write(text)


if __name__ == "__main__":
    main()
