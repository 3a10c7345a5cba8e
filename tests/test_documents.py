"""Readers of saved documents reject values out of range and state what is allowed."""

import pytest

from dfltheory import documents
from dfltheory.errors import InputError


@pytest.mark.parametrize("values", [[True], [True] * 4])
def test_list_of_a_wrong_length_is_rejected_with_both_limits(values):
    read = documents.rows(documents.truth, 3, least=2)
    assert read("place", [True, False]) == [True, False]
    assert read("place", [True] * 3) == [True] * 3
    with pytest.raises(InputError, match=r"place .*2.*3"):
        read("place", values)


def test_empty_list_is_allowed_by_default():
    assert documents.rows(documents.truth, 3)("place", []) == []
