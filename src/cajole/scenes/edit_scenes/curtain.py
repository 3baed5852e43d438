"""A curtain on rings in the wind: the cloth of Figure 8, Barbič 2012, edited to swing higher and flap.

Its motion comes from a mass-spring network; `edit` uses a thin shell with the same mesh.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from cajole.animation import Animation
from cajole.arrays import Array, IndexArray
from cajole.body import EARTH_GRAVITY, BodyShell, BodySprings, MaterialShell
from cajole.body.springs import build_cloth_springs
from cajole.dynamics import simulate
from cajole.mesh import MeshTri, Skin, grid_triangles
from cajole.pictures import Prop
from cajole.progress import ProgressCallback, report_progress
from cajole.scenes.edit_scenes.edit_scene import EditScene, VertexDrag, load_or_compute_positions

# 1281 vertices and 2400 triangles, as in Table 1
CELLS_ACROSS, CELLS_DOWN = 60, 20
WIDTH, HEIGHT, TOP_HEIGHT = 2.4, 1.5, 1.95
FRAMES, FPS, MODES = 240, 60.0, 200
# every how many columns the tape at the upper edge hangs on a ring; folds fall from it, one a ring, that deep [m]
RING_SPACING, FOLD_DEPTH = 10, 0.035
# of the cloth [kg/m²], and of its springs [N/m]: along threads, across, and against folding
AREAL_DENSITY, SPRING_STIFFNESS, SPRING_DAMPING, BENDING_CLAMP = 0.25, (900.0, 250.0, 6.0, 3.0), 0.02, 0.05
# the cloth settles for this many frames before the first one that counts
SETTLING_FRAMES = 60
# gusts: start and stop [s], strength [weights], phase along the curtain [1/m] and beat [Hz]
GUSTS = (
    (-0.8, 0.8, 0.75, 0.5, 0.0),
    (0.7, 2.2, -0.65, -0.8, 0.6),
    (1.5, 2.9, 0.85, 0.6, 0.8),
    (2.8, 4.2, -0.5, 0.9, 0.7),
)
DAMPING = (0.3, 0.004)
# frames of the drags, and how much farther about the rod they swing the middle of the hem, then the corners [degrees]
SWING_FRAME, FLAP_FRAME = 30, 150
SWING_ANGLE, FLAP_ANGLE, DRAG_STEP = 12.0, 28.0, 4.0
CLOTH_COLOR, HEM_COLOR = (0.62, 0.17, 0.22), (0.90, 0.72, 0.38)
# of the rod and of its rings [m]
ROD_RADIUS, RING_RADIUS, RING_WIRE_RADIUS, ROD_OVERHANG = 0.016, 0.032, 0.006, 0.12


def build_curtain_scene(progress: ProgressCallback | None = None) -> EditScene:
    """Figure 8: one vertex is dragged at frame 30, two at frame 150; r = 200, T = 240."""
    camera = {
        "azimuth": 62.0,
        "elevation": 6.0,
        "fov": 28.0,
        "size": (960, 720),
        "background": (0.78, 0.81, 0.83),
        "floor": (0.70, 0.62, 0.53),
        "floor_height": 0.0,
    }
    # how the edit sees it: soft against bending, so that a drag is local, with a first frequency below one hertz
    shell_material = MaterialShell(young=1.0e6, poisson=0.2, thickness=0.012, density=AREAL_DENSITY / 0.012)
    rod_color = (0.80, 0.62, 0.28)
    mesh = build_pleated_mesh()
    cloth = build_springs(mesh)
    path = load_or_compute_positions(
        lambda: _simulate_wind(cloth, progress), cloth.compute_content_hash(), repr(GUSTS), FRAMES, FPS, SETTLING_FRAMES
    )
    report_progress(progress, 1.0, "the curtain hangs")
    return EditScene(
        name="curtain",
        title="Curtain in the wind",
        description="Cloth on rings swings in gusts of wind; three vertices make it swing higher and flap its corners.",
        animation=Animation(mesh, path, fps=FPS, skin=_build_skin(mesh), name="curtain"),
        body=BodyShell(mesh, shell_material, fixed=find_top_vertices(), damping=DAMPING),
        modes=MODES,
        drags=_build_drags(path),
        # held along one line it may swing as a whole, which costs no bending
        edit_options={"whole": True},
        props=(Prop("rod", _build_rod(mesh), rod_color),),
        camera=camera,
        frames_shown=(SWING_FRAME, 90, FLAP_FRAME, 210),
    )


def get_vertex_index(column: int, row: int) -> int:
    """Index of the vertex at a column (from the left) and a row (from the top)."""
    return column * (CELLS_DOWN + 1) + CELLS_DOWN - row


def find_top_vertices() -> IndexArray:
    """Vertices at the upper edge, which the rod holds straight."""
    return np.array([get_vertex_index(i, 0) for i in range(CELLS_ACROSS + 1)])


def find_hem_landmarks() -> dict[str, int]:
    """Dragged vertices of the hem, by name."""
    return {
        "middle": get_vertex_index(CELLS_ACROSS // 2, CELLS_DOWN),
        "left": get_vertex_index(0, CELLS_DOWN),
        "right": get_vertex_index(CELLS_ACROSS, CELLS_DOWN),
    }


def build_pleated_mesh() -> MeshTri:
    """Rest shape of the curtain: straight at the top, pleated below."""
    flat = grid_triangles(CELLS_ACROSS, CELLS_DOWN, size=(WIDTH, HEIGHT))
    x, z = flat.vertices[:, 0], flat.vertices[:, 1]
    fallen = 1.0 - z / HEIGHT
    fold = FOLD_DEPTH * np.sqrt(fallen) * np.sin(2 * np.pi * CELLS_ACROSS / RING_SPACING * x / WIDTH)
    return MeshTri(np.column_stack([x - WIDTH / 2, fold, TOP_HEIGHT - HEIGHT + z]), flat.triangles)


def build_springs(mesh: MeshTri) -> BodySprings:
    """Build the simulated mass-spring network: structural, shear and bending springs of the rest shape."""
    edges, kinds = build_cloth_springs(CELLS_ACROSS, CELLS_DOWN)
    masses = np.zeros(len(mesh.vertices))
    np.add.at(masses, mesh.triangles, AREAL_DENSITY * np.repeat(mesh.areas[:, None] / 3, 3, axis=1))
    return BodySprings(
        mesh.vertices,
        edges,
        stiffness=np.array(SPRING_STIFFNESS)[kinds],
        mass=masses,
        fixed=find_top_vertices(),
        damping=SPRING_DAMPING,
        clamp=BENDING_CLAMP,
        mesh=mesh,
    )


def build_wind_force(cloth: BodySprings) -> Callable[[float], Array]:
    """Build gusts (n, 3) [N] across the curtain as a function of time [s]: they fade in and out and travel along it."""
    x, z = cloth.vertices[:, 0], cloth.vertices[:, 2]
    # the rod shelters the upper part
    exposed = EARTH_GRAVITY * cloth.masses * (0.25 + 0.75 * (TOP_HEIGHT - z) / HEIGHT)

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


def _simulate_wind(cloth: BodySprings, progress: ProgressCallback | None) -> Array:
    integrator = "bdf2"
    blowing, still = build_wind_force(cloth), SETTLING_FRAMES / FPS
    film = simulate(
        cloth, FRAMES + SETTLING_FRAMES, 1 / FPS, force=lambda t: blowing(t - still), gravity=EARTH_GRAVITY,
        integrator=integrator, progress=progress,
    )  # fmt: skip
    return np.asarray(film.positions[SETTLING_FRAMES:])


def _build_drags(positions: Array) -> tuple[VertexDrag, ...]:
    """Drags in small steps, as with a mouse: the middle of the hem in one frame, both corners together in another."""
    # [m]: a corner that goes up alone draws in the edge of the cloth, which hardly stretches
    corner_inset = 0.16
    hem = find_hem_landmarks()
    drags = (([hem["middle"]], SWING_FRAME, SWING_ANGLE), ([hem["left"], hem["right"]], FLAP_FRAME, FLAP_ANGLE))
    return tuple(
        VertexDrag(
            np.array(vertices),
            frame,
            _swing_about_rod(positions[frame, vertices], angle, corner_inset * (angle / FLAP_ANGLE) ** 2),
        )
        for vertices, frame, whole in drags
        for angle in np.linspace(0.0, whole, round(whole / DRAG_STEP) + 1)[1:]
    )


def _swing_about_rod(points: Array, degrees: float, inward: float = 0.0) -> Array:
    """Rotate points (k, 3) outwards about the rod and move them `inward` [m] from both ends."""
    arm = points - [0.0, 0.0, TOP_HEIGHT]
    turn = np.radians(degrees) * np.sign(arm[:, 1])
    y, z = arm[:, 1] * np.cos(turn) - arm[:, 2] * np.sin(turn), arm[:, 1] * np.sin(turn) + arm[:, 2] * np.cos(turn)
    x = points[:, 0] * (1.0 - inward / (WIDTH / 2))
    return np.column_stack([x, y, z + TOP_HEIGHT])


def _build_skin(mesh: MeshTri) -> Skin:
    """Plain skin, which shows the folds, with a golden band above the hem."""
    n = len(mesh.vertices)
    row = np.arange(n) % (CELLS_DOWN + 1)
    hem = (row == 1) | (row == 2)
    colors = np.where(hem[:, None], HEM_COLOR, CLOTH_COLOR)
    return Skin(mesh, colors, ("cloth", "hem"), hem.astype(np.int64), np.zeros(n))


def _build_rod(mesh: MeshTri) -> MeshTri:
    """Build a rod above the curtain with rings around it."""
    held = mesh.vertices[find_top_vertices()[::RING_SPACING]]
    height = TOP_HEIGHT + RING_RADIUS - RING_WIRE_RADIUS
    reach = WIDTH / 2 + ROD_OVERHANG
    parts = [_build_tube(np.array([[-reach, 0, height], [reach, 0, height]]), ROD_RADIUS, closed=False)]
    turn = 2 * np.pi * np.arange(24) / 24
    for x, y, _ in held:
        circle = np.column_stack([np.full(24, x), y + RING_RADIUS * np.sin(turn), height + RING_RADIUS * np.cos(turn)])
        parts.append(_build_tube(circle, RING_WIRE_RADIUS, closed=True))
    first = np.cumsum([0, *(len(points) for points, _ in parts)])
    return MeshTri(
        np.vstack([points for points, _ in parts]), np.vstack([faces + at for (_, faces), at in zip(parts, first)])
    )


def _build_tube(line: Array, radius: float, *, closed: bool, sides: int = 12) -> tuple[Array, IndexArray]:
    """Build a round tube along points (k, 3) whose cross sections contain the x axis or are perpendicular to it."""
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
