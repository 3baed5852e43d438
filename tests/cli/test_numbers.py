"""Numbers, vectors and times as text."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from cajole.cli.parsers import parse_number, parse_seconds, parse_vector
from cajole.errors import InputError


def tried(read, *words):
    """What `read` returns, or the message it refuses with; any other exception is a failure."""
    try:
        return read(*words)
    except InputError as error:
        return str(error)


@given(st.text(max_size=20))
def test_any_text_is_numbers_or_explained_bad_input(text):
    for read in (parse_number, parse_seconds, parse_vector):
        found = tried(read, text, "value")
        assert "value" in found if isinstance(found, str) else np.isfinite(found).all()


def test_times_identity():
    assert parse_seconds("1/60", "dt") == 1 / 60
    assert parse_seconds("0.25", "dt") == 0.25
