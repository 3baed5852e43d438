"""Which pairs are looked at in a step: none that could meet is left out, however often the search is mended."""

from __future__ import annotations

import numpy as np
import pytest
from enrich_collision_cases import ball, sheet, two_sheets, world_of

from cajole.direct.enriching.collisions import kernels_contacts, kernels_distance
from cajole.direct.enriching.collisions.impulse_solver import ContactCandidates
from cajole.direct.enriching.collisions.world import BroadPhase

pytest.importorskip("ipctk")


def _rows(stencils, edges):
    """Stencils as a set, edges and pairs of them in one order."""
    if not edges:
        return {(int(a), *sorted(map(int, t))) for a, *t in stencils}
    return {tuple(sorted((tuple(sorted(map(int, s[:2]))), tuple(sorted(map(int, s[2:])))))) for s in stencils}


def _case(seed, move=0.1, apart=0.15):
    world = world_of(two_sheets(6, apart), ball(0.3, (0.0, 0.0, -0.6)))
    x = world.stack_positions(world.cloth.vertices, 0.0)
    y = x + move * np.random.default_rng(seed).normal(size=x.shape)
    return world, x, y


@pytest.mark.parametrize("count", [1, 7])
def test_the_pairs_of_some_vertices_are_those_of_all_that_hold_them_agreement(count):
    world, x, y = _case(0)
    some = np.random.default_rng(1).choice(len(x), count, replace=False)
    search = BroadPhase(world.surface, x, x + 0.1 * (y - x), 0.02)
    # as they go when the search is made, and elsewhere in two turns
    rest = np.setdiff1d(np.arange(len(x)), some)
    search.find_pairs_of(y, rest)
    found = search.find_pairs_of(y, some)
    for all_of_them, few, edges in zip(
        BroadPhase(world.surface, x, y, 0.02).find_all_pairs(), found, (False, True), strict=True
    ):
        holding = all_of_them[np.isin(all_of_them, some).any(axis=1)]
        assert len(few) == len(holding) > 0
        assert _rows(few, edges) == _rows(holding, edges)


@pytest.mark.parametrize("edges", [False, True])
def test_the_line_between_centres_never_tells_more_than_the_distance_invariant(edges):
    random = np.random.default_rng(2)
    w, way = np.empty(4), np.empty(3)
    told = 0
    for _ in range(2000):
        x = random.normal(size=(4, 3))
        x[2 if edges else 1 :] += random.normal(size=3)
        least, distance = (
            kernels_distance.estimate_min_distance(x, edges),
            kernels_distance.compute_stencil_distance(x, edges, w, way),
        )
        assert least <= distance + 1e-12
        told += least > 0.5 * distance
    assert told > 500


@pytest.mark.parametrize("seed", range(3))
def test_only_pairs_are_dropped_that_stay_apart_invariant(seed):
    """Those left out are followed in small steps."""
    world, x, y = _case(seed, 0.03)
    near = 0.03
    for stencils, edges in zip(
        BroadPhase(world.surface, x, y, 0.5 * near).find_all_pairs(), (False, True), strict=True
    ):
        kept, start = kernels_contacts.filter_approaching(x, y, stencils, edges, near)
        assert start == pytest.approx(kernels_distance.compute_stencil_distances(x, kept, edges), abs=1e-15)
        dropped = np.array(sorted(set(map(tuple, stencils)) - set(map(tuple, kept))))
        assert len(kept) > 20
        assert len(dropped) > 20
        ways = [
            kernels_distance.compute_stencil_distances(x + t * (y - x), dropped, edges).min()
            for t in np.linspace(0.0, 1.0, 21)
        ]
        assert min(ways) >= near


@pytest.mark.parametrize("share", [0.3, 2.0], ids=["a few", "many"])
def test_mended_searches_find_what_new_ones_do_agreement(share):
    """Some vertices leave their room, again and again; contacts there are those of a search for these very ways."""
    world, x, y = _case(3, 0.005, apart=0.05)
    random = np.random.default_rng(4)
    contacts = ContactCandidates(world, x, y)
    count = max(1, int(share * ContactCandidates.FULL_SEARCH_SHARE * len(x)))
    seen = 0
    for _ in range(4):
        moved = random.choice(world.shell_vertex_count, count, replace=False)
        y = y.copy()
        y[moved] += 5.0 * ContactCandidates.SEARCH_MARGIN * world.contact_distance * random.normal(size=(count, 3))
        contacts.update(y)
        mended, new = (each.find_contacts(y) for each in (contacts, ContactCandidates(world, x, y)))
        rows = [{tuple(sorted(map(int, row))) for row in each.stencils} for each in (mended, new)]
        assert rows[0] == rows[1]
        assert mended.count == new.count
        seen += mended.count
    assert seen > 20


@pytest.mark.parametrize("seed", range(3))
def test_pairs_that_have_room_to_spare_are_no_contacts_agreement(seed):
    """Vertices creep, and pairs far from touching are left out meanwhile; a new search looks at all of them."""
    world, x, y = _case(seed, 0.004, apart=0.03)
    random = np.random.default_rng(seed)
    contacts, seen = ContactCandidates(world, x, y), set()
    for _ in range(12):
        both = (each.find_contacts(y).stencils for each in (contacts, ContactCandidates(world, x, y)))
        old, new = ({tuple(sorted(map(int, row))) for row in stencils} for stencils in both)
        assert old == new
        seen |= old
        y = y.copy()
        y[: world.shell_vertex_count] += (
            0.2 * world.contact_distance * random.normal(size=(world.shell_vertex_count, 3))
        )
        contacts.update(y)
    assert len(seen) > len(new) > 20


@pytest.mark.parametrize("seed", range(4))
def test_the_free_share_is_that_of_tight_inclusion_over_all_pairs_reference(seed):
    """ipctk's own search and queries. Ours may only stop as soon, as pairs in other orders end in other boxes."""
    world, x, y = _case(seed, 0.06)
    share = ContactCandidates(world, x, y).compute_collision_free_fraction(y)
    assert share == pytest.approx(world.compute_collision_free_fraction(x, y), rel=0.05)
    assert 0.0 < share < 1.0
    assert not world.has_intersections(x + share * (y - x))


def test_what_keeps_its_distance_is_free():
    world = world_of(sheet(4), sheet(2, height=-0.5))
    x = world.stack_positions(world.cloth.vertices, 0.0)
    y = x.copy()
    y[: world.shell_vertex_count, 2] -= 0.4
    assert ContactCandidates(world, x, y).compute_collision_free_fraction(y) == 1.0
    y[: world.shell_vertex_count, 2] -= 0.2
    assert ContactCandidates(world, x, y).compute_collision_free_fraction(y) < 0.5 / 0.6
