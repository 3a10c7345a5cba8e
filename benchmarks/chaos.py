"""Interrupt commands at random moments, and check that no result is lost.

``python benchmarks/chaos.py -n 50`` first runs each kind of command without
interruption. Then it disturbs the same command in turn by a signal (SIGKILL, SIGTERM,
SIGINT), a full disk (simulated by a limit on file sizes), a killed worker, or a second
instance of the same command. Moments are drawn uniformly from the duration of the
undisturbed run. The command is restarted until it completes.

Its files must then have the same content as those of the undisturbed run, except for
durations, and no partial file, lock or process may remain. A command that refuses to
run must exit with status 2 and a one-line message. Commands are forked from a process
that has already imported the packages, so that interruptions do not hit the imports.

Prints one line for each kind of command, and exits with status 1 if anything differs.
``reproduce`` needs images below DFLTHEORY_DATA_ROOT.
"""

from __future__ import annotations

import argparse
import atexit
import contextlib
import fcntl
import itertools
import json
import multiprocessing
import os
import random
import resource
import runpy
import signal
import sys
import tempfile
import threading
import time
from collections import Counter
from pathlib import Path
from typing import Any

SIGNALS = {each.name: each for each in (signal.SIGKILL, signal.SIGTERM, signal.SIGINT)}
TROUBLES = (*SIGNALS, "full disk", "worker killed", "two at once")
SWEEP = """
title = "chaos"
[task]
name = "quadratic"
m = 4
d = 2
sigma = 0.2
[algorithm]
name = "dfedsam"
K = 1
eta = 0.05
rho = 0.05
[run]
rounds = 60
seeds = 2
[sweep]
topology.name = ["ring", "star"]
"""
TRAIN = (
    "train --task quadratic --algorithm dfedsam --topology ring --m 8 --rounds 1000"
    " --rho 0.05 --json"
)
VALIDATE = "validate --topology ring --rounds 40 --seeds 2 --json"
FALSIFY = (
    "falsify dfedadmm.theorem_1 --variant printed --enough 2 --seconds 600 --out"
    " found.json --json"
)
KINDS = {  # the command, and how it ends
    "train": (
        f"dfltheory {TRAIN} --checkpoint run.ckpt --checkpoint-every 50 --out out",
        0,
    ),
    "sweep": ("dfltheory sweep chaos.toml --out out --jobs 2 --json", 0),
    "validate": (f"dfltheory {VALIDATE} --out out", 0),
    "falsify": (f"dfltheory {FALSIFY}", 1),
    "reproduce": (
        "validation.reproduce dfedsam.figure_2 --scale tiny --jobs 1 --out out",
        0,
    ),
}
IMPORTED = [
    "dfltheory.cli",
    "dfltheory.experiments.report",
    "dfltheory.experiments.sweep",
    "dfltheory.training",
]
IMPORTED += [
    "dfltheory.counterexamples",
    "dfltheory.plots",
    "validation.reproduce.work",
]
IMPORTED += [
    "pandas",
    "scipy.stats",
    "typer.main",
    "pydantic.type_adapter",
    "rich.progress",
]
IMPORTED += [
    "torch.nn.functional",
    "safetensors.torch",
    "jinja2",
    "latex2mathml.converter",
    "matplotlib.pyplot",
]
IMPORTED += [f"matplotlib.backends.backend_{form}" for form in ("agg", "pdf", "svg")]
PROCESSES = multiprocessing.get_context("forkserver")


def numbers(path: Path) -> Any:
    """Return the content of a file without durations and paths."""
    if path.suffix == ".json":
        return _timeless(json.loads(path.read_text()))
    if path.suffix == ".csv":
        import pandas as pd

        frame = pd.read_csv(path)
        return frame.drop(columns=[c for c in frame if "seconds" in str(c)]).to_csv()
    if path.suffix == ".safetensors":
        from dfltheory.training import storage

        tensors, document = storage.read(path, "dfltheory.History")
        return {k: v.numpy().tobytes() for k, v in tensors.items()}, _timeless(document)
    return None  # pictures and pages


def _timeless(node: Any) -> Any:
    if isinstance(node, dict):
        return {
            k: _timeless(v)
            for k, v in node.items()
            if "seconds" not in k and k != "first"
        }
    return [_timeless(v) for v in node] if isinstance(node, list) else node


def found(folder: Path) -> dict[str, Any]:
    return {
        str(p.relative_to(folder)): numbers(p)
        for p in sorted(folder.rglob("*"))
        if p.is_file()
    }


def litter(folder: Path) -> list[str]:
    return [str(p) for p in folder.rglob(".*")]


class Command:
    """A command running in its own session, with files limited to ``limit`` bytes."""

    def __init__(
        self, words: str, folder: Path, limit: int = resource.RLIM_INFINITY
    ) -> None:
        (folder / "chaos.toml").write_text(SWEEP)
        self.said, stderr = PROCESSES.Pipe(duplex=False)
        # it is only read at the end
        fcntl.fcntl(stderr.fileno(), fcntl.F_SETPIPE_SZ, 1 << 20)
        self.process = PROCESSES.Process(
            target=_work, args=(words.split(), folder, limit, stderr)
        )
        self.process.start()
        stderr.close()

    def ends(self, seconds: float | None = None) -> bool:
        self.process.join(seconds)
        return self.process.exitcode is not None

    @property
    def pid(self) -> int:
        return self.process.pid or 0

    @property
    def status(self) -> int:
        self.ends()
        return self.process.exitcode or 0

    def wrong(self, expected: int, law: str = "") -> str:
        """Describe what is wrong with the exit; empty if nothing is.

        The command may exit with the expected status, or with status 2 and a message
        that contains ``law``.
        """
        status, said = (
            self.status,
            os.read(self.said.fileno(), 1 << 20).decode().strip(),
        )
        line = said.rpartition("\n")[2]
        right = status == expected or (
            status == 2 and law in line and line and "Traceback" not in said
        )
        return "" if right else f"status {status}, {said[-300:]!r}"


def _work(words: list[str], folder: Path, limit: int, stderr: Any) -> None:
    """Run a module as ``python -m`` does, with redirected output and a file limit."""
    os.setsid()
    os.chdir(folder)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    os.dup2(stderr.fileno(), 2)
    stderr.close()
    # background processes of a shell ignore SIGINT
    signal.signal(signal.SIGINT, signal.default_int_handler)
    # makes writing fail at the limit, as on a full disk
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
    sys.argv[1:] = words[1:]
    try:
        runpy.run_module(words[0], run_name="__main__", alter_sys=True)
    finally:
        # as at the exit of the interpreter, so that workers end without a timeout
        threading._shutdown()
        atexit._run_exitfuncs()


def left(session: int) -> list[int]:
    """Return the ids of the processes in a session."""
    pids = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            try:
                fields = (entry / "stat").read_text().rsplit(")", 1)[1].split()
            except OSError:
                continue
            if int(fields[3]) == session and fields[0] != "Z":
                pids.append(int(entry.name))
    return pids


def orphans(session: int) -> int:
    """Kill processes of a session that remain after a minute; return their number."""
    until = time.monotonic() + 60
    while (alive := left(session)) and time.monotonic() < until:
        time.sleep(0.1)
    return sum(kill(pid, signal.SIGKILL) for pid in alive)


def kill(pid: int, number: signal.Signals) -> bool:
    """Send a signal; return whether the process still existed."""
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, number)
        return True
    return False


def strike(
    trouble: str, kind: str, folder: Path, span: float, rng: random.Random
) -> tuple[Command, str]:
    """Start the command and disturb it once.

    Returns the command, and "ended" if it completed before, "met" if it reacted as it
    should, or a description of the fault.
    """
    words, expected = KINDS[kind]
    if trouble == "full disk":
        command = Command(words, folder, rng.randrange(20_000))
        return command, command.wrong(expected) or (
            "met" if command.status == 2 else "ended"
        )
    command = Command(words, folder)
    if command.ends(rng.uniform(0, span)):
        return command, "ended"
    if trouble == "two at once":
        other = Command(words, folder)
        wrong = [
            each.wrong(expected, "is being written by") for each in (other, command)
        ]
        wrong += ["both are refused"] * (other.status == command.status == 2)
        wrong += ["processes remain"] * bool(orphans(other.pid))
        return command, "; ".join(filter(None, wrong)) or "met"
    workers = [pid for pid in left(command.pid) if pid != command.pid]
    if trouble == "worker killed":
        struck = bool(workers) and kill(rng.choice(workers), signal.SIGKILL)
        fault = f"status {command.status}" * (command.status != expected)
        return command, fault or ("met" if struck else "ended")
    struck = kill(command.pid, SIGNALS[trouble])
    if command.status == expected and not (struck and trouble == "SIGINT"):
        return command, "ended"  # just before; an interrupted search keeps what it has
    return command, (
        "met"
        if command.status == -SIGNALS[trouble]
        else command.wrong(expected) or "met"
    )


def disturb(kind: str, times: int, troubles: list[str], rng: random.Random) -> bool:
    """Disturb a kind of command ``times`` times, and print its row of the table.

    Returns whether it survived without a fault.
    """
    (words, expected), met, wrong, remained, n = KINDS[kind], Counter[str](), [], 0, 0
    kinds = [t for t in troubles if t != "worker killed" or "--jobs 2" in words]
    # random order, so that different troubles follow each other
    turns = (t for _ in itertools.count() for t in rng.sample(kinds, len(kinds)))
    with tempfile.TemporaryDirectory() as place:

        def fresh(name: str) -> Path:
            Path(place, name).mkdir()
            return Path(place, name)

        whole, span = fresh("whole"), 0.0
        for folder in (fresh("first"), whole):  # the first run warms up imports
            began, undisturbed = time.monotonic(), Command(words, folder)
            fault, span = undisturbed.wrong(expected), time.monotonic() - began
        results = found(whole)
        if fault or undisturbed.status != expected or not any(results.values()):
            raise SystemExit(
                f"{kind} does not run: {fault or undisturbed.status}, {sorted(results)}"
            )
        while met.total() < times:
            n += 1
            folder, end = fresh(f"run{n}"), "met"
            while end != "ended" and met.total() < times:
                command, end = strike(trouble := next(turns), kind, folder, span, rng)
                remained += orphans(command.pid)
                if end != "ended":
                    met[trouble] += 1
                    wrong += [f"{trouble}: {end}"] * (end != "met")
            if end != "ended":
                command = Command(words, folder)
            fault = command.wrong(expected) if command.status != expected else ""
            last = found(folder)
            differ = sorted(
                name
                for name in {*last, *results}
                if last.get(name) != results.get(name)
            )
            if fault or differ or litter(folder):
                wrong.append(f"{fault}; {differ}; {litter(folder)}")
    for line in wrong:
        print(f"{kind}: {line}", file=sys.stderr)
    counts = " | ".join(str(met[t]) for t in TROUBLES)
    print(
        f"| {kind} | {counts} | {n} | {len(wrong)} | {remained} | {span:.0f} |",
        flush=True,
    )
    return not wrong and not remained


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    count_help = "number of disturbances of each kind of command"
    parser.add_argument("-n", type=int, default=50, help=count_help)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", choices=KINDS, action="append")
    parser.add_argument(
        "--trouble", choices=TROUBLES, action="append", help="default: all, in turn"
    )
    given = parser.parse_args()
    print(
        f"| run | {' | '.join(TROUBLES)} | runs ended | wrong | processes left |"
        " seconds undisturbed |"
    )
    print(f"|{'---|' * (len(TROUBLES) + 5)}", flush=True)
    # inherited by the fork server and its workers
    os.environ["PYTHONPATH"] = str(Path(__file__).parents[1])
    PROCESSES.set_forkserver_preload(IMPORTED)
    rng, kinds = random.Random(given.seed), given.only or list(KINDS)
    ends = [
        disturb(kind, given.n, given.trouble or list(TROUBLES), rng) for kind in kinds
    ]
    return 0 if all(ends) else 1


if __name__ == "__main__":
    sys.exit(main())
