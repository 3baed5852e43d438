"""Checks of arguments: whatever is handed in, the answer is a value or an InputError that says what is wanted."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from cajole import checks
from cajole.errors import InputError

WORDS = ("fast", "exact")


@pytest.mark.parametrize("value", [np.zeros(3), np.array(["fast", "exact"]), np.empty((0, 2)), ["fast"], None, 3, True])
def test_one_of_words_bad_input(value: Any) -> None:
    """Arrays, too, which compare entry by entry and have no truth value."""
    with pytest.raises(InputError, match=r"collisions is .*, but must be one of 'fast', 'exact'"):
        checks.require_choice(value, "collisions", WORDS)


def test_one_of_words_identity() -> None:
    assert checks.require_choice("exact", "collisions", WORDS) == "exact"


@pytest.mark.parametrize("value", [0, 1, "no", None, np.zeros(3), [True], 1.0])
def test_flags_bad_input(value: Any) -> None:
    with pytest.raises(InputError, match="tracked must be True or False, not "):
        checks.require_bool(value, "tracked")


def test_flags_identity() -> None:
    assert checks.require_bool(np.True_, "tracked") is True
    assert checks.require_bool(False, "tracked") is False


@pytest.mark.parametrize("value", [None, 3, 1.5, True, object()])
def test_lists_bad_input(value: Any) -> None:
    with pytest.raises(InputError, match="goals must be a Goal, or a list of them, not "):
        checks.require_sequence(value, "goals", "a Goal, or a list of them")


def test_lists_identity() -> None:
    assert checks.require_sequence(iter("ab"), "names", "names") == ("a", "b")
