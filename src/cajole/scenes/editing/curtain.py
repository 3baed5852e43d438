"""A curtain that swings in the wind on its rings: the cloth of Figure 8, Barbič 2012, to swing higher and flap.

Its motion is that of a net of springs; the edit knows it only as a thin shell in the same place.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from cajole.animation import Animation
from cajole.arrays import Array, IndexArray
from cajole.body import EARTH_GRAVITY, BodyShell, BodySprings, MaterialShell
from cajole.body.nets import cloth_springs
from cajole.dynamics import simulate
from cajole.mesh import MeshTri, Skin, grid_triangles
from cajole.pictures import Prop
from cajole.progress import Progress, report
from cajole.scenes.editing.staging import EditScene, Move, kept_positions

# 1281 vertices and 2400 triangles, as in Table 1
ACROSS, DOWN = 60, 20
WIDTH, HEIGHT, TOP = 2.4, 1.5, 1.95
FRAMES, FPS, MODES = 240, 60.0, 200
# every how many columns the tape at the upper edge hangs on a ring; folds fall from it, one a ring, that deep [m]
RINGS, DEPTH = 10, 0.035
# of the cloth [kg/m²], and of its springs [N/m]: along threads, across, and against folding
AREAL, SPRINGS, DRAG, CLAMP = 0.25, (900.0, 250.0, 6.0, 3.0), 0.02, 0.05
# the cloth settles for this many frames before the first one that counts
SETTLING = 60
INTEGRATOR = "bdf2"
# gusts: start and stop [s], strength [weights], phase along the curtain [1/m] and beat [Hz]
GUSTS = (
    (-0.8, 0.8, 0.75, 0.5, 0.0),
    (0.7, 2.2, -0.65, -0.8, 0.6),
    (1.5, 2.9, 0.85, 0.6, 0.8),
    (2.8, 4.2, -0.5, 0.9, 0.7),
)
# how the edit sees it: soft against bending, so that a drag is local, with a first frequency below one hertz
SHELL = MaterialShell(young=1.0e6, poisson=0.2, thickness=0.012, density=AREAL / 0.012)
DAMPING = (0.3, 0.004)
# frames of the drags, and how much farther about the rod they swing the middle of the hem, then the corners [degrees]
SWUNG, FLAPPED = 30, 150
HIGHER, FLAP, STEP = 12.0, 28.0, 4.0
# [m]: a corner that goes up alone draws in the edge of the cloth, which hardly stretches
INWARD = 0.16
WINE, GOLD = (0.62, 0.17, 0.22), (0.90, 0.72, 0.38)
BRASS = (0.80, 0.62, 0.28)
# of the rod and of its rings [m]
ROD, RING, RING_WIRE, OVERHANG = 0.016, 0.032, 0.006, 0.12
CAMERA = {
    "azimuth": 62.0,
    "elevation": 6.0,
    "fov": 28.0,
    "size": (960, 720),
    "background": (0.78, 0.81, 0.83),
    "floor": (0.70, 0.62, 0.53),
    "floor_height": 0.0,
}


def curtain(progress: Progress | None = None) -> EditScene:
    """Figure 8: one vertex is dragged at frame 30, two at frame 150; r = 200, T = 240."""
    mesh = pleated()
    cloth = springs(mesh)
    path = kept_positions(lambda: _blown(cloth, progress), cloth.content(), repr(GUSTS), FRAMES, FPS, SETTLING)
    report(progress, 1.0, "the curtain hangs")
    return EditScene(
        name="curtain",
        title="Curtain in the wind",
        description="Cloth on rings swings in gusts of wind; three vertices make it swing higher and flap its corners.",
        animation=Animation(mesh, path, fps=FPS, skin=_skin(mesh), name="curtain"),
        body=BodyShell(mesh, SHELL, fixed=tape(), damping=DAMPING),
        modes=MODES,
        moves=_moves(path),
        # held along one line it may swing as a whole, which costs no bending
        settings={"whole": True},
        props=(Prop("rod", _rod(mesh), BRASS),),
        camera=CAMERA,
        frames_shown=(SWUNG, 90, FLAPPED, 210),
    )


def vertex(across: int, down: int) -> int:
    """The vertex of a column, from the left, and a row, from the top."""
    return across * (DOWN + 1) + DOWN - down


def tape() -> IndexArray:
    """The vertices at the upper edge, which the rod holds straight."""
    return np.array([vertex(i, 0) for i in range(ACROSS + 1)])


def hem_landmarks() -> dict[str, int]:
    """What is dragged, by name."""
    return {"middle": vertex(ACROSS // 2, DOWN), "left": vertex(0, DOWN), "right": vertex(ACROSS, DOWN)}


def pleated() -> MeshTri:
    """The curtain at rest in the plane of x and z: straight at its tape, in folds below."""
    flat = grid_triangles(ACROSS, DOWN, size=(WIDTH, HEIGHT))
    x, z = flat.vertices[:, 0], flat.vertices[:, 1]
    fallen = 1.0 - z / HEIGHT
    fold = DEPTH * np.sqrt(fallen) * np.sin(2 * np.pi * ACROSS / RINGS * x / WIDTH)
    return MeshTri(np.column_stack([x - WIDTH / 2, fold, TOP - HEIGHT + z]), flat.triangles)


def springs(mesh: MeshTri) -> BodySprings:
    """The cloth that is simulated: threads, shear and folds as springs of the rest shape."""
    edges, kinds = cloth_springs(ACROSS, DOWN)
    masses = np.zeros(len(mesh.vertices))
    np.add.at(masses, mesh.triangles, AREAL * np.repeat(mesh.areas[:, None] / 3, 3, axis=1))
    return BodySprings(
        mesh.vertices, edges, stiffness=np.array(SPRINGS)[kinds], mass=masses, fixed=tape(), damping=DRAG,
        clamp=CLAMP, mesh=mesh,
    )  # fmt: skip


def wind(cloth: BodySprings) -> Callable[[float], Array]:
    """Gusts (n, 3) [N] across the curtain at a time [s] from its first frame: they swell, fade and run along it."""
    x, z = cloth.vertices[:, 0], cloth.vertices[:, 2]
    # the rod shelters the upper part
    exposed = EARTH_GRAVITY * cloth.masses * (0.25 + 0.75 * (TOP - z) / HEIGHT)

    def force(t: float) -> Array:
        total = np.zeros((len(x), 3))
        for start, stop, strength, along, beat in GUSTS:
            if start < t < stop:
                swell = np.sin(np.pi * (t - start) / (stop - start)) ** 2
                running = np.cos(2 * np.pi * (along * x - beat * (t - start)))
                total[:, 1] += strength * swell * exposed * (0.65 + 0.35 * running)
                total[:, 0] += 0.2 * strength * swell * exposed * np.sin(2 * np.pi * along * x)
        return total

    return force


def _blown(cloth: BodySprings, progress: Progress | None) -> Array:
    blowing, still = wind(cloth), SETTLING / FPS
    film = simulate(
        cloth, FRAMES + SETTLING, 1 / FPS, force=lambda t: blowing(t - still), gravity=EARTH_GRAVITY,
        integrator=INTEGRATOR, progress=progress,
    )  # fmt: skip
    return np.asarray(film.positions[SETTLING:])


def _moves(path: Array) -> tuple[Move, ...]:
    """In small steps, as a hand drags: the middle of the hem at one frame, then both corners together at another."""
    hem = hem_landmarks()
    drags = (([hem["middle"]], SWUNG, HIGHER), ([hem["left"], hem["right"]], FLAPPED, FLAP))
    return tuple(
        Move(np.array(vertices), frame, _swung(path[frame, vertices], angle, INWARD * (angle / FLAP) ** 2))
        for vertices, frame, whole in drags
        for angle in np.linspace(0.0, whole, round(whole / STEP) + 1)[1:]
    )


def _swung(points: Array, degrees: float, inward: float = 0.0) -> Array:
    """Points (k, 3) farther out about the rod, to the side on which they are, and `inward` [m] from either end."""
    arm = points - [0.0, 0.0, TOP]
    turn = np.radians(degrees) * np.sign(arm[:, 1])
    y, z = arm[:, 1] * np.cos(turn) - arm[:, 2] * np.sin(turn), arm[:, 1] * np.sin(turn) + arm[:, 2] * np.cos(turn)
    x = points[:, 0] * (1.0 - inward / (WIDTH / 2))
    return np.column_stack([x, y, z + TOP])


def _skin(mesh: MeshTri) -> Skin:
    """Plain, so that folds are seen, with a golden band above the hem."""
    n = len(mesh.vertices)
    row = np.arange(n) % (DOWN + 1)
    hem = (row == 1) | (row == 2)
    colors = np.where(hem[:, None], GOLD, WINE)
    return Skin(mesh, colors, ("cloth", "hem"), hem.astype(np.int64), np.zeros(n))


def _rod(mesh: MeshTri) -> MeshTri:
    """A rod over the curtain, and rings around it."""
    held = mesh.vertices[tape()[::RINGS]]
    height = TOP + RING - RING_WIRE
    reach = WIDTH / 2 + OVERHANG
    parts = [_tube(np.array([[-reach, 0, height], [reach, 0, height]]), ROD, closed=False)]
    turn = 2 * np.pi * np.arange(24) / 24
    for x, y, _ in held:
        circle = np.column_stack([np.full(24, x), y + RING * np.sin(turn), height + RING * np.cos(turn)])
        parts.append(_tube(circle, RING_WIRE, closed=True))
    first = np.cumsum([0, *(len(points) for points, _ in parts)])
    return MeshTri(
        np.vstack([points for points, _ in parts]), np.vstack([faces + at for (_, faces), at in zip(parts, first)])
    )


def _tube(line: Array, radius: float, *, closed: bool, sides: int = 12) -> tuple[Array, IndexArray]:
    """A round tube along points (k, 3), whose planes hold x or stand across it."""
    ahead = np.roll(line, -1, axis=0) - np.roll(line, 1, axis=0) if closed else np.gradient(line, axis=0)
    ahead = ahead / np.linalg.norm(ahead, axis=1, keepdims=True)
    side = np.broadcast_to([1.0, 0.0, 0.0] if closed else [0.0, 1.0, 0.0], ahead.shape)
    up = np.cross(ahead, side)
    turn = 2 * np.pi * np.arange(sides) / sides
    points = line[:, None] + radius * (np.cos(turn)[:, None] * side[:, None] + np.sin(turn)[:, None] * up[:, None])
    k = len(line)
    i, j = (index.ravel() for index in np.indices((k if closed else k - 1, sides)))
    a, b = i * sides + j, i * sides + (j + 1) % sides
    c, d = (i + 1) % k * sides + j, (i + 1) % k * sides + (j + 1) % sides
    return points.reshape(-1, 3), np.concatenate([np.column_stack([a, c, b]), np.column_stack([b, c, d])])
