"""A suspension bridge in a storm that dips into the sea and hits gulls, and the same bridge at rest with one mast
pulled.

The storm is simulated on the full mesh without reduction: legs, hangers and deck deform locally, and an edit must
preserve all of it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from cajole.animation import Animation
from cajole.arrays import Array, IndexArray
from cajole.body import EARTH_GRAVITY, BodySolid
from cajole.checks import require_real_array
from cajole.dynamics import simulate
from cajole.errors import InputError
from cajole.mesh import MeshTri
from cajole.pictures import Prop
from cajole.progress import ProgressCallback, build_subprogress, report_progress
from cajole.scenes.bridge import GIRDER_Y, TOWER_X
from cajole.scenes.builtin import Scene, scene
from cajole.scenes.edit_scenes.edit_scene import EditScene, VertexDrag, load_or_compute_positions
from cajole.scenes.edit_scenes.gulls import COLLISION_RADIUS, GullFlock, build_flock, compute_parabolic_path

FRAMES, FPS, MODES = 240, 30.0, 1000
# linearly implicit, twice a frame: 90 s for the whole storm, no tet below 0.7 of its volume
INTEGRATOR, SUBSTEPS = "bdf2", 2
# the sea's height [m]: under the deck in rest by a quarter of a metre; and how far everything shall stay clear
SEA_HEIGHT, CLEARANCE = 0.62, 0.1
# which frame a still mast is pulled in, how far [m], and where to: across the bridge
PULL_FRAME, PULL_OFFSET = 60, (0.0, -0.75, 0.0)
WATER_COLOR, SEABED_COLOR, SKY_COLOR = (0.10, 0.36, 0.50), (0.16, 0.36, 0.46), (0.72, 0.81, 0.88)
# the sheet of water: its radius [m] and how finely it is divided; the height [m] of its swell, and waves [1/m]
SEA_RADIUS, SEA_RINGS, SEA_SECTORS = 120.0, 160, 160
SWELL_HEIGHT, SWELL_WAVES = 0.05, ((2.3, 0.9, 0.0), (-1.1, 2.7, 1.3), (3.1, -2.2, 2.1))


@dataclass(frozen=True)
class StormGust:
    """A force of `strength` [g] that fades in and out between start and stop [s] and oscillates at `hertz`."""

    pattern: str
    start: float
    stop: float
    frequency: float
    strength: float

    def __call__(self, t: float) -> float:
        """Strength [g] at a time [s]."""
        if not self.start < t < self.stop:
            return 0.0
        swell = np.sin(np.pi * (t - self.start) / (self.stop - self.start)) ** 2
        return float(self.strength * swell * np.sin(2 * np.pi * self.frequency * (t - self.start)))


# Near the bridge's own frequencies, so that it answers. The second gust works against the swing that the first began:
# only one dip reaches the sea.
STORM_GUSTS = (
    StormGust("heave", 0.0, 1.0, 1.46, 1.5),
    StormGust("heave", 0.95, 1.65, 1.46, 1.5),
    StormGust("sway", 0.65, 3.75, 1.2, 0.42),
    StormGust("roll", 1.5, 4.5, 2.7, 0.45),
    StormGust("yaw", 3.2, 6.5, 1.5, 0.45),
    StormGust("heave", 3.9, 5.6, 1.46, 0.3),
    StormGust("wave", 4.6, 6.8, 2.7, 0.5),
    StormGust("roll", 5.5, 7.5, 2.7, 0.4),
)


@dataclass(frozen=True, eq=False, kw_only=True)
class BridgeStormScene(EditScene):
    """The bridge in the storm. deck: vertices that must stay above the sea; surface_vertices: those on the surface;
    flocks.
    """

    deck_vertices: IndexArray
    surface_vertices: IndexArray
    flocks: tuple[GullFlock, ...]

    def compute_deck_depth(self, positions: Array) -> float:
        """Greatest depth [m] of the deck in the sea at positions (n, 3); negative above it."""
        return float(SEA_HEIGHT - positions[self.deck_vertices, 2].min())

    def compute_gull_gap(self, positions: Array, frame: int) -> float:
        """Least distance [m] of the bridge (n, 3) from a gull's collision sphere in a frame; negative inside one."""
        return float(min(group.compute_gaps(positions[self.surface_vertices], frame).min() for group in self.flocks))


def build_bridge_scene(progress: ProgressCallback | None = None) -> BridgeStormScene:
    """Figure 1, Barbič 2012: eight dragged vertices keep the bridge clear of the sea and of two flocks of gulls."""
    made = load_damped_bridge(progress=build_subprogress(progress, 0.0, 0.1))
    body = made.body()
    path = load_or_compute_positions(
        lambda: simulate_storm(body, progress=build_subprogress(progress, 0.1, 1.0)),
        body.compute_content_hash(),
        repr(STORM_GUSTS),
        FRAMES,
        FPS,
        SUBSTEPS,
    )
    report_progress(progress, 1.0, "the storm is over")
    return build_storm_scene(made, body, path)


def build_storm_scene(bridge_scene: Scene, body: BodySolid, positions: Array) -> BridgeStormScene:
    """Build the scene of a motion (frames, n, 3) [m] of the bridge: gulls that its masts hit, and the corrective drags.

    All targets are computed from the motion: the depth of the deck in the sea, and the distance from mast to bird.
    Raises InputError for a motion with too few frames, or in which the deck stays dry.
    """
    camera_overrides = {"floor": SEABED_COLOR, "background": SKY_COLOR, "floor_height": -0.22, "elevation": 6.0}
    # flights: velocity [m/s] where the first bird is struck, and the pull [m/s²] that brings it there and away again
    gull_flights = (((4.2, 0.5, -0.3), (0.0, -2.4, 0.9)), ((-4.0, 0.8, 0.2), (0.0, -2.6, 0.7)))
    # which mast strikes a bird (its side along x) and in which frames it sways out farthest
    mast_strikes = ((-1.0, (80, 112)), (1.0, (145, 170)))
    require_real_array(positions, "positions (m)", (None, body.vertex_count, 3))
    if len(positions) < mast_strikes[-1][1][1]:
        raise InputError(f"positions has {len(positions)} frames, but gulls come until frame {mast_strikes[-1][1][1]}")
    deck = np.concatenate([bridge_scene.parts["deck"], bridge_scene.parts["girders"]])
    masts = [_find_mast_tops(bridge_scene, side) for side, _ in mast_strikes]
    outside = np.flatnonzero(bridge_scene.mesh.surface.used_vertex_mask)
    flocks = tuple(
        _build_struck_flock(positions, tops, window, flight, number)
        for number, (tops, (_, window), flight) in enumerate(zip(masts, mast_strikes, gull_flights))
    )
    rest = bridge_scene.mesh.vertices
    away = (_build_mast_drag(positions, rest, outside, tops, group) for tops, group in zip(masts, flocks))
    moves = (_build_deck_drag(positions, rest, bridge_scene.parts["girders"], deck), *away)
    return BridgeStormScene(
        name="bridge",
        title="Bridge over the sea",
        description="A storm shakes a bridge into the sea and into two flocks of gulls; eight vertices are moved.",
        animation=Animation(bridge_scene.mesh, positions, fps=FPS, skin=bridge_scene.skin, name="bridge"),
        body=body,
        modes=MODES,
        drags=moves,
        props=(_build_sea(), *(Prop(group.animation.name, group.animation) for group in flocks)),
        camera={**bridge_scene.camera, **camera_overrides},
        frames_shown=tuple(move.frame for move in moves),
        deck_vertices=deck,
        surface_vertices=outside,
        flocks=flocks,
    )


def build_pulled_bridge_scene(progress: ProgressCallback | None = None) -> EditScene:
    """Figure 2, Barbič 2012: a bridge at rest with a free end of time; one mast is pulled sideways at frame 60."""
    made = load_damped_bridge(progress=progress)
    still = np.broadcast_to(made.mesh.vertices, (FRAMES, *made.mesh.vertices.shape))
    top = _find_mast_tops(made, -1.0)[:1]
    return EditScene(
        name="bridge-pulled",
        title="Bridge, one mast pulled",
        description="A bridge at rest; the top of one mast is pulled across at frame 60, and the rest swings along.",
        animation=Animation(made.mesh, still, fps=FPS, skin=made.skin, name="bridge-pulled"),
        body=made.body(),
        modes=MODES,
        drags=(VertexDrag(top, PULL_FRAME, made.mesh.vertices[top] + PULL_OFFSET, "xy"),),
        edit_options={"ends": "free"},
        camera=made.camera,
        frames_shown=(48, PULL_FRAME, 72, 90, 120),
    )


def load_damped_bridge(*, progress: ProgressCallback | None = None) -> Scene:
    """Load the built-in bridge with stronger damping."""
    # mass damping [1/s]: what one gust began has faded when the next ones shake
    mass_damping = 0.4
    made = scene("bridge", progress=progress)
    return replace(made, damping=(mass_damping, made.damping[1]))


def simulate_storm(body: BodySolid, *, frames: int = FRAMES, progress: ProgressCallback | None = None) -> Array:
    """Simulate the bridge in the storm on all its tets: positions (frames, n, 3) [m]."""
    made = simulate(
        body,
        frames,
        1 / FPS,
        force=build_storm_force(body),
        integrator=INTEGRATOR,
        substeps=SUBSTEPS,
        progress=progress,
    )
    return np.asarray(made.positions)


def build_storm_force(body: BodySolid) -> Callable[[float], Array]:
    """Build the force of all gusts as a function of time [s]: (n, 3) [N]."""
    x, y = body.vertices[:, 0], body.vertices[:, 1]
    across, up = np.array([0.0, 1.0, 0.0]), np.array([0.0, 0.0, 1.0])
    weight = EARTH_GRAVITY * body.vertex_masses[:, None]
    middle = np.cos(0.5 * np.pi * np.clip(x / TOWER_X, -1.0, 1.0))[:, None]
    halves = np.sin(0.5 * np.pi * np.clip(x / TOWER_X, -2.0, 2.0))[:, None]
    patterns = {
        "heave": weight * up,
        "sway": weight * across,
        "roll": weight * middle * (y / GIRDER_Y)[:, None] * up,
        "yaw": weight * halves * across,
        "wave": weight * halves * up,
    }
    return lambda t: np.sum([gust(t) * patterns[gust.pattern] for gust in STORM_GUSTS], axis=0)


def _find_mast_tops(bridge_scene: Scene, side: float) -> IndexArray:
    """Topmost vertex of both legs of the mast at `side` along x; the one with smaller y first."""
    x = bridge_scene.mesh.vertices
    tower = bridge_scene.parts["towers"]
    legs = [tower[(side * x[tower, 0] > 0) & (leg * x[tower, 1] > 0)] for leg in (-1.0, 1.0)]
    return np.array([leg[x[leg, 2].argmax()] for leg in legs])


def _build_struck_flock(
    positions: Array, tops: IndexArray, window: tuple[int, int], flight: tuple[tuple[float, ...], ...], number: int
) -> GullFlock:
    """Build a flock whose first bird meets the outer leg of a mast in the frame of its largest deflection."""
    # how far beside the middle of a bird the mast passes [m]: its wing is struck
    strike_offset = 0.1
    frame = window[0] + int(positions[slice(*window), tops[0], 1].argmin())
    velocity, pull = (np.array(part) for part in flight)
    first = compute_parabolic_path(
        positions[frame, tops[0]] - [0.0, strike_offset, 0.0], frame, velocity, pull, frames=len(positions), fps=FPS
    )
    # the others stay on the far side of the first
    return build_flock(first, fps=FPS, on_left=bool(velocity[0] < 0), seed=number, name=f"gulls {number + 1}")


def _build_deck_drag(positions: Array, rest: Array, girders: IndexArray, deck: IndexArray) -> VertexDrag:
    """Lift four vertices of the girders, at the quarter points of their submerged parts, out of the sea."""
    frame = int(positions[:, deck, 2].min(axis=1).argmin())
    x = positions[frame]
    least = float(x[deck, 2].min())
    if least >= SEA_HEIGHT:
        raise InputError(f"the deck never comes below {least:.3g} m, but the sea is at {SEA_HEIGHT} m: it stays dry")
    vertices = []
    for side in (-1.0, 1.0):
        wet = girders[(side * x[girders, 1] > 0) & (x[girders, 2] < SEA_HEIGHT)]
        ends = x[wet, 0].min(), x[wet, 0].max()
        for share in (0.25, 0.75):
            at = ends[0] + share * (ends[1] - ends[0])
            # of those that stand there a low one: sideways distance counts in full, height by half
            vertices.append(int(wet[(np.abs(x[wet, 0] - at) + 0.5 * x[wet, 2]).argmin()]))
    lowest = deck[x[deck, 2].argmin()]
    back = float((SEA_HEIGHT + CLEARANCE - least) / (rest[lowest, 2] - least))
    return _drag_towards_rest(np.array(vertices), frame, x, rest, back, "z")


def _build_mast_drag(
    positions: Array, rest: Array, surface_vertices: IndexArray, tops: IndexArray, gulls: GullFlock
) -> VertexDrag:
    """Drag the tops of a mast in the frame that needs the largest correction to clear all birds."""
    shares = np.array(
        [
            _find_clear_fraction(x[surface_vertices], rest[surface_vertices], birds)
            for x, birds in zip(positions, gulls.centres)
        ]
    )
    ways = shares * np.abs(rest[tops, 1] - positions[:, tops, 1]).max(axis=1)
    frame = int(ways.argmax())
    return _drag_towards_rest(tops, frame, positions[frame], rest, float(shares[frame]), "y")


def _drag_towards_rest(
    vertices: IndexArray, frame: int, x: Array, rest: Array, fraction: float, directions: str
) -> VertexDrag:
    """Drag vertices a fraction of the way back to their rest positions, in the given directions only.

    A mast is stiff along its axis: a target for the height of its top would stretch it.
    """
    return VertexDrag(vertices, frame, x[vertices] + fraction * (rest - x)[vertices], directions)


def _find_clear_fraction(points: Array, rest: Array, birds: Array) -> float:
    """Least fraction of the way to rest at which points (n, 3) leave the collision spheres of birds (k, 3).

    A point at offset r from a bird that moves by d leaves the sphere of radius R where |r + s d| = R, the larger root
    s. Points that are already at rest are ignored.
    """
    reach = COLLISION_RADIUS + CLEARANCE
    # few points are anywhere near: the others need not be asked bird by bird
    close = ((points > birds.min(axis=0) - reach) & (points < birds.max(axis=0) + reach)).all(axis=1)
    r = (points[None, close] - birds[:, None]).reshape(-1, 3)
    d = np.tile((rest - points)[close], (len(birds), 1))
    room, far = reach**2 - (r**2).sum(axis=1), (d**2).sum(axis=1)
    near = (room > 0) & (far > 0)
    along, far = (r[near] * d[near]).sum(axis=1), far[near]
    return float(((np.sqrt(along**2 + far * room[near]) - along) / far).max(initial=0.0))


def _build_sea() -> Prop:
    """Build a round sheet of water with a swell whose crests are at sea level; rings get wider outwards."""
    rings = SEA_RADIUS * np.linspace(0.0, 1.0, SEA_RINGS) ** 1.5
    turns = 2 * np.pi * np.arange(SEA_SECTORS) / SEA_SECTORS
    x, y = np.outer(rings[1:], np.cos(turns)).ravel(), np.outer(rings[1:], np.sin(turns)).ravel()
    swell = np.sum([np.sin(a * x + b * y + c) for a, b, c in SWELL_WAVES], axis=0) / len(SWELL_WAVES)
    points = np.column_stack([x, y, SEA_HEIGHT - SWELL_HEIGHT * (1.0 - swell) / 2])
    i, j = (part.ravel() for part in np.indices((SEA_RINGS - 2, SEA_SECTORS)))
    a, b = i * SEA_SECTORS + j, i * SEA_SECTORS + (j + 1) % SEA_SECTORS
    bands = np.concatenate(
        [np.column_stack([a, a + SEA_SECTORS, b + SEA_SECTORS]), np.column_stack([a, b + SEA_SECTORS, b])]
    )
    heart = np.column_stack(
        [np.full(SEA_SECTORS, len(points)), np.arange(SEA_SECTORS), np.roll(np.arange(SEA_SECTORS), -1)]
    )
    sheet = MeshTri(np.vstack([points, [0.0, 0.0, SEA_HEIGHT - SWELL_HEIGHT / 2]]), np.vstack([bands, heart]))
    return Prop("sea", sheet, WATER_COLOR, opacity=0.5)
