"""Trouble real commands at random moments, and see that nothing is lost:
``benchmarks/chaos.py -n 50``.

Each kind of run is first let through; then the same command is killed (SIGKILL,
SIGTERM, SIGINT), its disk is full (a limit on the size of files), one of its workers is
killed, or it meets another one like it, in turn, at moments drawn uniformly from its
undisturbed time, and is started again until it ends by itself. Its files then must hold
what the undisturbed command's do, except for seconds; nothing half-written, no lock and
no process may be left; whatever is refused ends with status 2 and one line. Commands
are forked off a process that has imported the packages, so that moments fall into work.
Prints one line for each kind; ends with status 1 where anything differs. ``reproduce``
needs images below DFLTHEORY_DATA_ROOT.
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
    """What a file says, but for how long it took and where it lies."""
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
    """A command at work in a session of its own; no file of it may grow beyond
    ``limit`` bytes.
    """

    def __init__(
        self, words: str, folder: Path, limit: int = resource.RLIM_INFINITY
    ) -> None:
        (folder / "chaos.toml").write_text(SWEEP)
        self.said, stderr = PROCESSES.Pipe(duplex=False)
        # it is read at the end
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
        """What is wrong with how it ended: as if nothing were, or with status 2 and one
        line, is right.
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
    """What ``python -m`` does, from its first line of code on."""
    os.setsid()
    os.chdir(folder)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    os.dup2(stderr.fileno(), 2)
    stderr.close()
    # which the shell's background ignores
    signal.signal(signal.SIGINT, signal.default_int_handler)
    # then writing fails, as on a full disk
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
    sys.argv[1:] = words[1:]
    try:
        runpy.run_module(words[0], run_name="__main__", alter_sys=True)
    finally:
        # first, as at the end of an interpreter: then workers need not idle out
        threading._shutdown()
        atexit._run_exitfuncs()


def left(session: int) -> list[int]:
    """The processes of a session that is over."""
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
    """How many processes outlive their session by a minute; none does after this."""
    until = time.monotonic() + 60
    while (alive := left(session)) and time.monotonic() < until:
        time.sleep(0.1)
    return sum(kill(pid, signal.SIGKILL) for pid in alive)


def kill(pid: int, number: signal.Signals) -> bool:
    """Whether the process was still there."""
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, number)
        return True
    return False


def strike(
    trouble: str, kind: str, folder: Path, span: float, rng: random.Random
) -> tuple[Command, str]:
    """Start the command and trouble it once: the command, and "ended", "met" or a
    fault.
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
    """Whether a kind of run outlives its troubles, ``times`` in all; prints its row."""
    (words, expected), met, wrong, remained, n = KINDS[kind], Counter[str](), [], 0, 0
    kinds = [t for t in troubles if t != "worker killed" or "--jobs 2" in words]
    # what follows what, too
    turns = (t for _ in itertools.count() for t in rng.sample(kinds, len(kinds)))
    with tempfile.TemporaryDirectory() as place:

        def fresh(name: str) -> Path:
            Path(place, name).mkdir()
            return Path(place, name)

        whole, span = fresh("whole"), 0.0
        for folder in (fresh("first"), whole):  # the first one imports what is left
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
    parser.add_argument("-n", type=int, default=50, help="troubles of each kind of run")
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
    # of the server, and of workers
    os.environ["PYTHONPATH"] = str(Path(__file__).parents[1])
    PROCESSES.set_forkserver_preload(IMPORTED)
    rng, kinds = random.Random(given.seed), given.only or list(KINDS)
    ends = [
        disturb(kind, given.n, given.trouble or list(TROUBLES), rng) for kind in kinds
    ]
    return 0 if all(ends) else 1


if __name__ == "__main__":
    sys.exit(main())
