"""Vertices as text."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cajole.errors import CajoleError, InputError
from cajole.mesh import box_tets
from cajole.scenes import select_vertices

MESH = box_tets(4, 2, 2, size=(2.0, 1.0, 1.0), origin=(-1.0, 0.0, 0.0))
PARTS = {"left end": np.array([0, 1])}


@pytest.mark.parametrize(
    ("text", "mask"),
    [
        ("x<0", MESH.vertices[:, 0] < 0),
        ("x <= 0 & z>0.5", (MESH.vertices[:, 0] <= 0) & (MESH.vertices[:, 2] > 0.5)),
        ("x<25%", MESH.vertices[:, 0] < -0.5),
        ("y>=1e0", MESH.vertices[:, 1] >= 1),
        ("all", MESH.vertices[:, 0] < 9),
        ("none", MESH.vertices[:, 0] > 9),
    ],
)
def test_region_agreement(text, mask):
    assert np.array_equal(select_vertices(text, MESH, PARTS), np.flatnonzero(mask))


def test_parts_and_numbers_identity(tmp_path):
    (tmp_path / "held.bou").write_text("3, 1\n")
    assert select_vertices("left end", MESH, PARTS).tolist() == [0, 1]
    assert select_vertices("7, 2,7", MESH, PARTS).tolist() == [2, 7]
    assert select_vertices(str(tmp_path / "held.bou"), MESH, PARTS).tolist() == [0, 2]


def test_unknown_names_the_parts_bad_input():
    with pytest.raises(InputError, match="a part \\(left end\\)"):
        select_vertices("right end", MESH, PARTS)


def tried(read, *words):
    """What `read` returns, or the message it refuses with; any other exception is a failure."""
    try:
        return read(*words)
    except CajoleError as error:
        return str(error)


@given(st.text(max_size=30))
def test_any_text_selects_or_explains_bad_input(text):
    found = tried(select_vertices, text, MESH, PARTS)
    assert len(found) > 0 if isinstance(found, str) else set(found) <= set(range(len(MESH.vertices)))
