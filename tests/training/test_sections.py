"""Tasks are built from the sections of documents."""

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import pytest
import torch

from dfltheory import tasks
from dfltheory.algorithms.base import Algorithm
from dfltheory.errors import InputError
from dfltheory.number_ranges import NumberRange
from dfltheory.training.sections import check_algorithm_section, make_task


class FromFile(tasks.Quadratic):
    """A task whose minimizers are in a file."""

    def __init__(self, path: Path) -> None:
        numbers = [[float(line)] for line in path.read_text().split()]
        super().__init__(1.0, torch.tensor(numbers, dtype=torch.float64))


TABLE = {"name": f"{__name__}:FromFile", "path": "numbers.txt"}


def test_files_of_a_task_are_relative_to_the_folder_of_its_document(tmp_path):
    (tmp_path / "numbers.txt").write_text("1\n3\n")
    task = make_task(dict(TABLE), tmp_path)
    assert (task.m, float(task.constants.f_star)) == (2, 0.5)


def test_document_without_a_folder_names_no_files():
    with pytest.raises(InputError, match=r"task\.path"):
        make_task(dict(TABLE), None)


@dataclass(frozen=True)
class Overrelaxed(Algorithm):
    """An algorithm whose required hyperparameter exceeds 1."""

    omega: float
    ranges: ClassVar = {"omega": NumberRange(1, open_low=True)}


def test_scheduled_hyperparameter_has_a_placeholder_in_its_own_range():
    table = {"name": f"{__name__}:Overrelaxed"}
    check_algorithm_section(table, given_later={"omega"})
    with pytest.raises(InputError, match=r"algorithm\.omega"):
        check_algorithm_section(table)
