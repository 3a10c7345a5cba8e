"""The network of analyses that follow a round through matrices: ``mix(z, times, bits)``, and nothing else."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from torch import Tensor

from dfltheory.algorithms.base import MIX
from dfltheory.errors import InputError


class PlainMix:
    """``mix`` of one matrix; whoever asks it for more is told so in one line, which names the analysis."""

    def __init__(self, mix: Callable[[Tensor, int], Tensor], analysis: str):
        self._mix, self._analysis = mix, analysis

    def __call__(self, z: Tensor, times: int = 1, W: str = MIX, bits: Any = None) -> Tensor:
        if W != MIX:
            raise self._refusal(f"mix(z, W={W!r})")
        return self._mix(z, times)

    def send(self, message: Tensor, bits: Any = None, W: str = MIX) -> Tensor:
        if W != MIX:
            raise self._refusal(f"mix.send(message, W={W!r})")
        return message

    def uniform(self, shape: tuple[int, ...]) -> Tensor:
        """Refused when it is drawn from, not when it is passed on to one who may not ask."""
        raise self._refusal("mix.uniform")

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        raise self._refusal(f"mix.{name}")

    def _refusal(self, asked: str) -> InputError:
        return InputError(
            f"{self._analysis} run algorithms that ask the network for mix(z, times) alone, and this one asks"
            f" for {asked}: measure its runs by dfltheory.train"
        )
