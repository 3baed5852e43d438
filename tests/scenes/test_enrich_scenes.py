"""Scenes for `enrich`: their sizes, that their guides do what they shall, and that a shell can follow each."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.distance import pdist

from cajole.body import EARTH_GRAVITY
from cajole.errors import InputError
from cajole.mesh import MeshTri
from cajole.scenes.enrich_scenes import (
    EnrichScene,
    flag,
    get_enrich_scene_descriptions,
    list_enrich_scene_names,
    load_enrich_scene,
    render_enrich_frame,
    render_enrich_strip,
    render_regions,
    walker_motion,
)
from cajole.scenes.enrich_scenes.bag import LANDING_TIME, TAKEOFF_TIME
from cajole.scenes.enrich_scenes.box import LID_SPEED, STOP_TIME
from cajole.scenes.enrich_scenes.enrich_scene import ShellVariant
from cajole.scenes.enrich_scenes.walker_rig import FOOT_BALL, INSTEP_RANGE, LIMBS, build_puppet_rig

# guide, shell, regions: the table of §5.5, Bergou 2007
TABLE = {"flag": (35, 1625, 4), "box": (8, 1538, 8), "bag": (88, 1297, 88), "walker": (3038, 3038, 280)}
HEADWIND_FRAME = 140


@pytest.fixture(scope="module", params=sorted(TABLE))
def made(request: pytest.FixtureRequest) -> EnrichScene:
    return load_enrich_scene(request.param)


@pytest.fixture(scope="module")
def bag() -> EnrichScene:
    return load_enrich_scene("bag")


@pytest.fixture(scope="module")
def box() -> EnrichScene:
    return load_enrich_scene("box")


@pytest.fixture(scope="module")
def walker() -> EnrichScene:
    return load_enrich_scene("walker")


def test_names_bad_input():
    assert set(list_enrich_scene_names()) == set(TABLE) == set(get_enrich_scene_descriptions())
    with pytest.raises(InputError, match=r"the name of an enrich scene is 'sail'.*flag"):
        load_enrich_scene("sail")


def test_table_claim(made):
    """As many vertices and regions as the paper's own."""
    guide, shell, regions = TABLE[made.name]
    assert (made.guide.n, made.default_shell.vertex_count, len(made.regions)) == (guide, shell, regions)


def test_first_steps_identity(made):
    """A shell meets every average of its guide to rounding, from the start on."""
    result = made.solve(frames=2)
    assert result.animation.frames == 2
    assert result.residual.max() <= 1e-10
    off = made.regions.compute_distances(made.guide.positions[1], result.animation.positions[1])
    assert off.max() <= 1e-10 * made.default_shell.size


def test_start_is_apart_identity(made):
    """Neither the shell at the start nor what it may bump into pass through each other."""
    result = made.solve(frames=1, collisions="fast")
    assert result.report.collisions is not None
    assert result.report.collisions.intersections == 0


def test_materials_identity(made):
    """Every material is a shell of the same mesh, and differs from every other in the shell or in what acts on it."""
    kinds = set()
    for cloth in made.variants.values():
        made.regions.require_matching_meshes(made.guide.mesh, cloth.shell.mesh)
        acting = [str(value) for value in np.atleast_1d(np.array(cloth.enrich_options.get("forces", ()), dtype=object))]
        kinds.add((cloth.shell.compute_content_hash(), tuple(acting), "undeformed" in cloth.enrich_options))
    assert len(kinds) == len(made.variants)


def test_material_bad_input(box):
    with pytest.raises(InputError, match=r"material is 'wood'.*cloth"):
        box.solve("wood")


def test_scene_bad_input(box):
    with pytest.raises(InputError, match="frame 999 shall be shown"):
        EnrichScene("a", "b", "c", box.guide, box.regions, box.variants, frames_shown=(999,))
    with pytest.raises(InputError, match="no material"):
        EnrichScene("a", "b", "c", box.guide, box.regions, {})


def test_cloth_is_made_once_identity(box):
    calls = []
    cloth = ShellVariant("", (1.0, 1.0, 1.0), lambda: calls.append(1) or box.default_shell)
    assert cloth.shell is cloth.shell
    assert len(calls) == 1


# --- the box


def test_box_lid_is_rigid_identity(box):
    """The bottom stays, the lid keeps its distances, and all nine materials hold the bottom."""
    x, mesh = box.guide.positions, box.guide.mesh
    lid = mesh.vertices[:, 2] > 0
    assert np.ptp(x[:, ~lid], axis=0).max() == 0
    np.testing.assert_allclose([pdist(frame[lid]) for frame in x], pdist(mesh.vertices[lid])[None].repeat(len(x), 0))
    assert len(box.variants) == 9
    assert (box.default_shell.mesh.vertices[box.default_shell.fixed, 2] == 0).all()
    assert len(box.default_shell.fixed) == 17 * 17


def test_box_stops_dead_identity(box):
    """At full speed up to the stop, and from there on not at all."""
    x = box.guide.positions
    stop = round(STOP_TIME * box.guide.fps)
    speed = np.linalg.norm(np.diff(x, axis=0), axis=2).max(axis=1) * box.guide.fps
    assert speed[stop - 1] >= LID_SPEED
    assert speed[stop:].max() == 0
    assert box.guide.frames > stop + 30


# --- the bag


def test_bag_mesh_claim(bag):
    """A disk of 158 triangles with 16 edges around its opening."""
    mesh = bag.guide.mesh
    assert (len(mesh.triangles), len(mesh.boundary_edges)) == (158, 16)
    assert len(mesh.vertices) - len(mesh.edges) + len(mesh.triangles) == 1
    assert mesh.is_manifold()


def test_bag_flips_identity(bag):
    """It stands as at rest at first and at last, upside down in between, and turns once backwards."""
    x, rest = bag.guide.positions, bag.guide.mesh.vertices
    np.testing.assert_allclose(x[0], rest, atol=1e-12)
    np.testing.assert_allclose(x[-1] - x[-1].mean(axis=0), rest - rest.mean(axis=0), atol=1e-9)
    low = rest[:, 2] == 0
    sole = x[:, low]
    front, back = (rest[low, 0] == rest[low, 0].max()), (rest[low, 0] == rest[low, 0].min())
    toe = sole[:, front].mean(axis=1) - sole[:, back].mean(axis=1)
    # up at first when it falls backwards
    pitch = np.unwrap(np.arctan2(toe[:, 2], toe[:, 0]))
    assert pitch[-1] == pytest.approx(2 * np.pi)
    assert (x[:, ~low, 2].mean(axis=1) < sole[..., 2].mean(axis=1)).any()


def test_bag_falls_freely_identity(bag):
    """In the air its mean moves as the mean of the vertices of a thrown thing; it never goes into the ground."""
    x, fps = bag.guide.positions, bag.guide.fps
    times = np.arange(len(x)) / fps
    fall = np.diff(x.mean(axis=1), 2, axis=0) * fps**2
    in_air = (times[:-2] > TAKEOFF_TIME) & (times[2:] < LANDING_TIME)
    np.testing.assert_allclose(fall[in_air], [[0, 0, -EARTH_GRAVITY]] * in_air.sum(), atol=1e-6)
    assert in_air.sum() > 15
    assert x[..., 2].min() > -1e-12
    on_ground = (times < TAKEOFF_TIME) | (times > LANDING_TIME)
    assert np.abs(x[on_ground, :, 2].min(axis=1)).max() < 1e-12


def test_bag_crosses_itself_claim(bag):
    """The guide is full of self-intersections where it crouches and lands, and has none where it stands (§5.3)."""
    mesh = bag.guide.mesh
    crossings = {frame: _crossings(mesh, bag.guide.positions[frame]) for frame in (0, 26, 59)}
    assert crossings[0] == 0
    assert crossings[26] > 20
    assert crossings[59] > 20


# --- the walker


def test_walker_skin_identity(walker):
    """Closed, outward, above the ground, and free of self-intersections at rest."""
    mesh = walker.guide.mesh
    assert mesh.is_closed()
    assert mesh.volume > 0.01
    assert walker.guide.positions[..., 2].min() > 0
    assert _crossings(mesh, mesh.vertices) == 0


def test_walker_feet_stay_identity(walker):
    """A foot that is flat on the ground does not slide, and its heel leaves the ground before its ball does."""
    shape, x = build_puppet_rig(), walker.guide.positions
    sole = (shape.limb_index == LIMBS.index("left leg")) & (np.abs(shape.limb_coordinate - FOOT_BALL) < 1.5)
    cycles = np.array([walker_motion.compute_cycle_count(frame / walker_motion.FPS) for frame in range(len(x))])
    walking = cycles < 4.5
    flat = walking & (cycles % 1 > 0.12) & (cycles % 1 < 0.34)
    both = flat[1:] & flat[:-1]
    moved = np.linalg.norm(np.diff(x[:, sole], axis=0), axis=2).max(axis=1)
    assert both.sum() > 20
    assert moved[both].max() < 1e-3
    heel = (shape.limb_index == LIMBS.index("left leg")) & (np.abs(shape.limb_coordinate - INSTEP_RANGE[0] - 2) < 1.0)
    leaving = walking & (cycles % 1 > 0.5) & (cycles % 1 < 0.6)
    rise = x[:, heel, 2].min(axis=1) - x[:, sole, 2].min(axis=1)
    assert rise[leaving].min() > rise[flat].max() + 0.02


def test_walker_walks_identity(walker):
    """Forward, slower against the wind, and leaning into it; under current it stands."""
    x, fps = walker.guide.positions, walker.guide.fps
    middle = x.mean(axis=1)
    brisk, slow = (np.diff(middle[a:b, 0]).mean() * fps for a, b in ((0, 80), (110, 180)))
    assert brisk > 0.6
    assert 0.2 < slow < 0.6 * brisk
    shape = build_puppet_rig()
    chest, pelvis = ((shape.limb_coordinate < 8) & np.isin(shape.limb_index, limbs) for limbs in ((0, 2), (1, 3)))
    lean = x[:, chest, 0].mean(axis=1) - x[:, pelvis, 0].mean(axis=1)
    assert lean[HEADWIND_FRAME] > lean[:80].mean() + 0.02
    stood = slice(round(walker_motion.ELECTRIC_CURRENT_SPAN[0] * fps) + 20, None)
    assert np.ptp(middle[stood, 0]) < 0.12


def test_walker_regions_are_finer_on_the_feet_claim(walker):
    """§5.4: fine test functions on the feet."""
    faces = walker.regions.triangle_labels
    shape, mesh = build_puppet_rig(), walker.guide.mesh
    assert faces is not None
    legs = [number for number, name in enumerate(LIMBS) if name.endswith("leg")]
    foot = (np.isin(shape.limb_index, legs) & (shape.limb_coordinate >= INSTEP_RANGE[0]))[mesh.triangles].all(axis=1)
    areas = [mesh.areas[where].sum() / len(np.unique(faces[where])) for where in (foot, ~foot)]
    assert areas[0] < 0.6 * areas[1]
    assert 60 <= len(np.unique(faces[foot])) <= 140


def test_walker_current_identity(walker):
    """The undeformed shape is the rest shape but under current, where it crinkles by millimetres."""
    shape, mesh = walker.variants["story"].enrich_options["undeformed"], walker.guide.mesh
    np.testing.assert_array_equal(shape(0.0), mesh.vertices)
    np.testing.assert_array_equal(shape(walker_motion.DURATION), mesh.vertices)
    times = np.linspace(*walker_motion.ELECTRIC_CURRENT_SPAN, 60)
    off = [np.linalg.norm(shape(t) - mesh.vertices, axis=1).max() for t in times]
    assert 0.005 < max(off) < 0.05
    assert np.median(np.abs(np.diff(off))) > 1e-4


# --- the flag


def test_flag_is_caught_claim():
    """It flies, then hangs on the branch and stays there; its quarters are told and nothing else."""
    scene = load_enrich_scene("flag")
    middle = scene.guide.positions.mean(axis=1)
    assert middle[0, 0] < -1.5
    assert np.linalg.norm(np.diff(middle[:8], axis=0), axis=1).min() * scene.guide.fps > 3.5
    assert np.abs(middle[60:, 0]).max() < 0.3
    assert middle[60:, 2].min() > 1.1
    areas = scene.regions.areas
    np.testing.assert_allclose(areas, flag.LENGTH * flag.WIDTH / 4)


# --- pictures


def test_pictures_identity(box, tmp_path):
    result = box.solve(frames=2)
    small = (64, 48)
    shown = render_enrich_frame(box, result, 1, size=small)
    alone = render_enrich_frame(box, result, 1, guide=False, size=small)
    assert shown.shape == alone.shape == (48, 64, 3)
    assert (shown != alone).any()
    rows = render_enrich_strip(box, {"cloth": result}, tmp_path / "strip.png", frames=(0, 1), size=small)
    assert rows.shape == (2 * 48 + 4, 2 * 64 + 4, 3)
    assert (tmp_path / "strip.png").exists()
    assert len(np.unique(render_regions(box, size=small).reshape(-1, 3), axis=0)) > 50
    with pytest.raises(InputError, match="one picture"):
        render_enrich_strip(box, {}, tmp_path / "strip.gif")


def _crossings(mesh: MeshTri, x: np.ndarray) -> int:
    """How many pairs of an edge and a triangle that share no vertex cut each other (Möller and Trumbore 1997)."""
    count = 0
    p, q, r = x[mesh.triangles].transpose(1, 0, 2)
    low, high = x[mesh.triangles].min(axis=1), x[mesh.triangles].max(axis=1)
    for a, b in mesh.edges:
        near = (low <= np.maximum(x[a], x[b])).all(axis=1) & (high >= np.minimum(x[a], x[b])).all(axis=1)
        near &= ~((mesh.triangles == a) | (mesh.triangles == b)).any(axis=1)
        d, one, two = x[b] - x[a], (q - p)[near], (r - p)[near]
        h = np.cross(d, two)
        det = (one * h).sum(axis=1)
        safe = np.where(np.abs(det) > 1e-15, det, 1.0)
        start = x[a] - p[near]
        u = (start * h).sum(axis=1) / safe
        c = np.cross(start, one)
        v, t = (c @ d) / safe, (two * c).sum(axis=1) / safe
        inside = (np.abs(det) > 1e-15) & (u > 0) & (v > 0) & (u + v < 1) & (t > 0) & (t < 1)
        count += int(inside.sum())
    return count
