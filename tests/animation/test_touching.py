"""Contacts found in finished frames."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from cajole.animation import Animation, Contacts, find_contacts
from cajole.errors import Cancelled, InputError
from cajole.mesh import ClosestPointQuery, MeshTet, MeshTri, box_tets, grid_triangles

Array = NDArray[np.float64]


def drifting(mesh: MeshTet | MeshTri, shifts: Array) -> Animation:
    """The mesh carried rigidly along `shifts` (frames, 3) [m]."""
    return Animation(mesh, mesh.vertices + shifts[:, None])


@pytest.fixture
def block() -> MeshTet:
    return box_tets(3, 3, 3, origin=(0, 0, 0))


@pytest.fixture
def tumbling(block: MeshTet) -> Animation:
    """A block that falls, turns and shears through the region of the unit box beside it."""
    random = np.random.default_rng(5)
    turn = np.eye(3) + 0.25 * random.standard_normal((40, 3, 3))
    path = np.linspace((0.2, 0.3, 1.6), (1.4, -0.2, -0.9), 40)
    return Animation(block, np.einsum("fij,nj->fni", turn, block.vertices - 0.5) + path[:, None])


def rows(contacts: Contacts) -> set[tuple[int, int]]:
    return set(zip(contacts.frame.tolist(), contacts.vertex.tolist()))


def test_ground_reference(block: MeshTet) -> None:
    """A block that sinks: exactly its lower face touches, from the frame that brings it near enough."""
    heights = np.array([0.02, 0.011, 0.009, 0.0, -0.1])
    falling = drifting(block, np.column_stack([np.zeros((5, 2)), heights]))
    found = find_contacts(falling, "ground", distance=0.01)
    bottom = np.flatnonzero(block.vertices[:, 2] == 0)
    assert rows(found) == {(frame, vertex) for frame in (2, 3, 4) for vertex in bottom.tolist()}
    assert np.array_equal(found.normal, np.tile([0, 0, 1.0], (len(found), 1)))
    assert (found.kind == "sliding").all()
    assert (found.other == -1).all()


def test_default_distance_is_a_share_of_the_size(block: MeshTet) -> None:
    near, far = (drifting(block, np.array([[0, 0, share * block.size]])) for share in (0.0019, 0.0021))
    assert len(find_contacts(near, "ground")) == 16
    assert len(find_contacts(far, "ground")) == 0


def test_inner_vertices_do_not_count(block: MeshTet) -> None:
    below = drifting(block, np.array([[0, 0, -5.0]]))
    found = find_contacts(below, "ground")
    assert np.array_equal(found.vertex, block.surface_vertices)
    assert len(block.surface_vertices) < len(block.vertices)


def test_plane_agreement_with_the_ground_turned(tumbling: Animation) -> None:
    tilted = find_contacts(tumbling, ((0.5, 0, 0.2), (0, 3, 4)))
    depth = (tumbling.positions - (0.5, 0, 0.2)) @ [0, 0.6, 0.8]
    expected = depth[:, tumbling.mesh.surface_vertices] <= 0.002 * tumbling.mesh.size  # type: ignore[union-attr]
    assert len(tilted) == expected.sum() > 0
    assert np.allclose(tilted.normal, [0, 0.6, 0.8])


def test_surface_agreement_with_distances_of_every_frame(tumbling: Animation, block: MeshTet) -> None:
    """What the culling in time leaves out never touches: the same as measuring every vertex in every frame."""
    solid = box_tets(2, 2, 2, size=(1.3, 1.1, 0.7), origin=(-0.2, -0.3, -0.4))
    found = find_contacts(tumbling, solid, distance=0.05)
    measure = ClosestPointQuery(solid.surface)
    outer = block.surface_vertices
    expected = {
        (f, int(v))
        for f, x in enumerate(tumbling.positions)
        for v in outer[measure.compute_signed_distances(x[outer]) <= 0.05]
    }
    assert rows(found) == expected
    assert 50 < len(expected) < 40 * len(outer) - 50
    at = tumbling.positions[found.frame, found.vertex]
    nearest = measure(at)
    assert np.allclose(found.normal, nearest.normal)
    assert (nearest.sign < 0).any(), "none is inside"
    assert rows(find_contacts(tumbling, solid.surface, distance=0.05)) == expected


def test_open_surface_touches_from_both_sides(block: MeshTet) -> None:
    sheet = grid_triangles(4, 4, size=(5, 5), origin=(-2, -2, 0))
    above = find_contacts(drifting(block, np.array([[0, 0, 0.01], [0, 0, 0.4]])), sheet, distance=0.02)
    below = find_contacts(drifting(block, np.array([[0, 0, -1.01], [0, 0, -0.6]])), sheet, distance=0.02)
    assert (len(above), len(below)) == (16, 16)  # vertices beyond an open sheet are not inside it
    assert np.allclose(above.normal, [0, 0, 1])
    assert np.allclose(below.normal, [0, 0, -1])


def test_auto_tells_sticking_from_sliding(block: MeshTet) -> None:
    x = np.array([0, 0, 0, 0.05, 0.1, 0.15])
    sliding = drifting(block, np.column_stack([x, 0 * x, [0.5, 0, -0.004, 0, 0, 0]]))
    found = find_contacts(sliding, "ground", distance=0.01, kind="auto")
    kinds = {frame: set(found.at(frame).kind.tolist()) for frame in range(1, 6)}
    assert kinds[1] == kinds[2] == {"sticking"}  # sinking further in is not sliding
    assert kinds[3] == kinds[4] == kinds[5] == {"sliding"}


def folded(gap: float) -> Animation:
    """A strip whose right half is laid back over its left half, `gap` above it."""
    strip = grid_triangles(20, 4, size=(2, 0.4))
    x, y, _ = strip.vertices.T
    bend = np.pi * np.clip((x - 1) / 0.2, 0, 1)
    radius = gap / 2
    flat = np.where(x < 1, x, np.where(x < 1.2, 1 + radius * np.sin(bend), 1.0 - (x - 1.2)))
    high = np.where(x < 1, 0, np.where(x < 1.2, radius * (1 - np.cos(bend)), gap))
    return Animation(strip, np.array([strip.vertices, np.column_stack([flat, y, high])]))


def test_self_contact_of_a_folded_strip() -> None:
    motion = folded(0.01)
    found = find_contacts(motion, "self", distance=0.02)
    assert len(found.at(0)) == 0, "a flat strip does not touch itself"
    assert len(found) > 20
    x = motion.positions[1]
    assert np.linalg.norm(x[found.vertex] - x[found.other], axis=1).max() < 0.1
    rest = motion.mesh.vertices
    assert np.linalg.norm(rest[found.vertex] - rest[found.other], axis=1).min() > 0.05
    flat = rest[found.other, 0] > 1.3  # away from the crease
    upper = x[found.vertex, 2] > x[found.other, 2]
    assert np.allclose(found.normal[flat], np.where(upper, 1.0, -1.0)[flat, None] * [0, 0, 1.0])
    assert flat.sum() > 10
    pairs = set(zip(found.vertex.tolist(), found.other.tolist()))
    assert not pairs & {(b, a) for a, b in pairs}
    assert len(find_contacts(folded(0.05), "self", distance=0.02)) < 20  # only next to the crease


def test_self_contact_of_two_blocks_points_out_of_the_one_touched() -> None:
    low, high = box_tets(4, 4, 4), box_tets(2, 2, 2, size=(0.4, 0.4, 0.4), origin=(0.3, 0.3, 2))
    n = len(low.vertices)
    two = MeshTet(np.vstack([low.vertices, high.vertices]), np.vstack([low.tets, high.tets + n]))
    moved = two.vertices.copy()
    moved[n:, 2] -= 1.02  # 0.02 into the lower one
    found = find_contacts(Animation(two, np.array([two.vertices, moved])), "self", distance=0.05)
    assert set(found.frame.tolist()) == {1}
    upper = found.vertex >= n
    assert np.array_equal(upper, found.other < n)
    assert len(found) >= 9
    assert np.allclose(found.normal[upper], [0, 0, 1])
    assert (found.normal[~upper, 2] <= 0).all()  # a side of the upper block, where that is nearer


def test_progress_and_cancel(tumbling: Animation) -> None:
    told: list[float] = []
    find_contacts(tumbling, "ground", progress=lambda fraction, text: told.append(fraction))
    assert told[0] == 0
    assert told[-1] == 1
    with pytest.raises(Cancelled):
        find_contacts(tumbling, "self", progress=lambda fraction, text: False)


@pytest.mark.parametrize(
    ("against", "options", "message"),
    [
        ("floor", {}, "against is 'floor'"),
        (3, {}, "must be 'ground', 'self', a MeshTri"),
        (((0, 0, 0), (0, 0, 0)), {}, "normal is zero"),
        (((0, 0), (0, 0, 1)), {}, "point has shape"),
        ("ground", {"distance": -1}, "distance \\(m\\) is -1"),
        ("ground", {"kind": "slow"}, "kind is 'slow'"),
    ],
)
def test_bad_input(tumbling: Animation, against: object, options: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        find_contacts(tumbling, against, **options)  # type: ignore[arg-type]
