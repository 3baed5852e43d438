"""Small animations that every format must carry."""

from __future__ import annotations

import pytest
from animation_cases import FPS, painted_skin, waved

from cajole.animation import Animation, Contacts
from cajole.mesh import box_tets, grid_triangles


@pytest.fixture
def tets() -> Animation:
    # a cube of cubes, so that there is a vertex inside that no surface has
    mesh = box_tets(2, 2, 2, size=(1.0, 0.7, 0.5))
    return Animation(mesh, waved(mesh.vertices), FPS, start_frame=3, name="jelly")


@pytest.fixture
def cloth() -> Animation:
    mesh = grid_triangles(3, 2, size=(1.0, 0.6))
    return Animation(mesh, waved(mesh.vertices), FPS, start_frame=3, name="cloth")


@pytest.fixture
def full(tets: Animation) -> Animation:
    """An animation with everything it can hold."""
    contacts = Contacts([1, 4], [0, 5], [[0, 0, 1], [0.6, 0, 0.8]], ["sliding", "sticking"], [-1, 2])
    return Animation(
        tets.mesh,
        tets.positions,
        FPS,
        velocities=0.5 * tets.positions - 1,
        contacts=contacts,
        skin=painted_skin(tets.mesh),
        start_frame=-2,
        name="jelly fish",
    )
