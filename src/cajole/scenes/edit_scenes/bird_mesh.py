"""The seagull's mesh: 664 vertices and 1324 triangles, one connected component with welded vertices.

Wings are double sheets welded to the sides of the body, so that four triangles share each edge there; the tail is a
single sheet at the last ring; the eyes are spheres attached to a triangle inside the head; the feet are wedges under
the belly. A pose bends and twists wings and tail along their length without stretching them.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from itertools import pairwise

import numpy as np
from scipy.interpolate import PchipInterpolator

from cajole.arrays import Array, IndexArray
from cajole.mesh import MeshTri, Skin
from cajole.scenes.scene_definition import mix_colors, smoothstep

# rings of the body from the tail to the beak [m]: x, height of the middle, half width, half height
BODY_RINGS = np.array(
    [
        (-0.62, 0.030, 0.045, 0.020), (-0.54, 0.020, 0.075, 0.045), (-0.45, 0.010, 0.105, 0.075),
        (-0.36, 0.000, 0.130, 0.100), (-0.27, -0.005, 0.150, 0.120), (-0.18, -0.010, 0.160, 0.135),
        (-0.09, -0.010, 0.165, 0.145), (0.00, -0.010, 0.168, 0.150), (0.09, -0.008, 0.165, 0.150),
        (0.18, -0.005, 0.155, 0.145), (0.27, 0.000, 0.140, 0.135), (0.34, 0.015, 0.122, 0.125),
        (0.40, 0.040, 0.108, 0.115), (0.46, 0.070, 0.100, 0.110), (0.52, 0.100, 0.103, 0.112),
        (0.58, 0.125, 0.110, 0.115), (0.64, 0.135, 0.108, 0.110), (0.70, 0.130, 0.090, 0.092),
        (0.75, 0.118, 0.062, 0.065), (0.79, 0.108, 0.036, 0.040), (0.86, 0.100, 0.026, 0.031),
        (0.92, 0.088, 0.017, 0.023),
    ]
)  # fmt: skip
RING_SIDES = 12
# of a wing: which rings its root is welded to, leading one first; stations from root to tip; length [m]
WING_ROOT_RINGS, WING_STATIONS, WING_LENGTH = tuple(range(10, 3, -1)), 13, 1.44
CHORD_POINTS = len(WING_ROOT_RINGS)
# thickness at root and tip [m]; what share of it lies below
WING_THICKNESS, LOWER_SURFACE_FRACTION = (0.055, 0.010), 0.35
# of the tail: rows behind the body, across, length, half width at its end, and how far its sides hang [m]
TAIL_ROWS, TAIL_COLUMNS, TAIL_LENGTH, TAIL_HALF_WIDTH, TAIL_SAG = 8, RING_SIDES // 2 + 1, 0.40, 0.21, 0.02
# eyes: centre [m] on the left, radius, and the ring and side of the head that they hang on
EYE_CENTRE, EYE_RADIUS, EYE_ATTACHMENT = (0.652, 0.098, 0.168), 0.021, (15, 1)
# feet: ring and side under the belly on the left, and the two far corners [m]
FOOT_ATTACHMENT, TOE_POSITIONS = (3, 8), ((-0.52, 0.055, -0.100), (-0.56, 0.085, -0.070))


@dataclass(frozen=True)
class SeagullPose:
    """Joint angles [degrees]: each wing rises at the shoulder, bends at the wrist and twists (nose up) towards its tip;
    the tail rises, and its width is scaled by a factor.
    """

    shoulder: float = 14.0
    wrist: float = -20.0
    twist: float = 0.0
    tail: float = 0.0
    spread: float = 1.0


@cache
def build_seagull_mesh() -> MeshTri:
    """Mesh of the bird in its gliding rest pose."""
    return MeshTri(compute_seagull_vertices(SeagullPose()), _build_triangles())


def compute_seagull_vertices(pose: SeagullPose) -> Array:
    """Vertices (664, 3) [m] of a pose, relative to the middle of the body, beak along x, left along y."""
    # rings around x, side k at k · 30 degrees from the left upwards, then the two ends
    # both ends, behind the first and before the last ring [m]
    body_ends = ((-0.64, 0.0, 0.03), (0.965, 0.0, 0.066))
    x, z, wide, high = (column[:, None] for column in BODY_RINGS.T)
    turn = 2 * np.pi * np.arange(RING_SIDES) / RING_SIDES
    rings = np.stack([x + 0 * turn, wide * np.cos(turn), z + high * np.sin(turn)], axis=2)
    body = np.vstack([rings.reshape(-1, 3), body_ends])
    left = _build_wing_vertices(pose)
    eye = np.asarray(EYE_CENTRE) + EYE_RADIUS * _build_unit_sphere()[0]
    toes = np.array(TOE_POSITIONS)
    mirror = np.array([1.0, -1.0, 1.0])
    return np.vstack(
        [body, left, mirror * left, _build_tail_vertices(body, pose), eye, mirror * eye, toes, mirror * toes]
    )


def find_landmarks() -> dict[str, int]:
    """Vertices by name: edges of the left wing at wrist and tip, and of the tail at its end and root."""
    first, wrist = compute_part_offsets(), 5
    left = first["left"]
    tail = first["tail"]
    return {
        "wrist front": get_wing_vertex(wrist, 0) + left,
        "wrist back": get_wing_vertex(wrist, CHORD_POINTS - 1) + left,
        "tip front": get_wing_vertex(WING_STATIONS, 0) + left,
        "tip back": get_wing_vertex(WING_STATIONS, CHORD_POINTS - 1) + left,
        "tail left": tail + (TAIL_ROWS - 1) * TAIL_COLUMNS,
        "tail right": tail + TAIL_ROWS * TAIL_COLUMNS - 1,
        "tail end": tail + (TAIL_ROWS - 1) * TAIL_COLUMNS + TAIL_COLUMNS // 2,
        "tail root": TAIL_COLUMNS // 2,
    }


def compute_part_offsets() -> dict[str, int]:
    """Index of the first vertex of each part after the body."""
    names = ("left", "right", "tail", "left eye", "right eye", "toes")
    body, ball = len(BODY_RINGS) * RING_SIDES + 2, len(_build_unit_sphere()[0])
    sizes = (body, count_wing_vertices(), count_wing_vertices(), TAIL_ROWS * TAIL_COLUMNS, ball, ball)
    return dict(zip(names, np.cumsum(sizes).tolist()))


def count_wing_vertices() -> int:
    """Number of vertices of a wing without those of its root, which belong to the body."""
    return (WING_STATIONS - 1) * 2 * (CHORD_POINTS - 1) + CHORD_POINTS


def get_wing_vertex(station: int, chord_index: int, below: bool = False) -> int:
    """Index of a wing vertex by station (from 1) and chord position (from the front), on the upper or lower sheet."""
    at = (station - 1) * 2 * (CHORD_POINTS - 1)
    return (
        at
        + chord_index
        + (CHORD_POINTS - 1 if below and 0 < chord_index < CHORD_POINTS - 1 and station < WING_STATIONS else 0)
    )


def _build_wing_vertices(pose: SeagullPose) -> Array:
    """Vertices of the left wing without its root: all of the upper sheet, then the inner ones of the lower sheet."""
    # along the span: front and back edge [m]
    wing_edges = np.array(
        [
            (0.0, 0.27, -0.27),
            (0.2, 0.33, -0.21),
            (0.42, 0.37, -0.12),
            (0.7, 0.22, -0.10),
            (0.9, 0.03, -0.13),
            (1.0, -0.13, -0.19),
        ]
    )
    s = np.linspace(0.0, 1.0, 10 * WING_STATIONS + 1)
    rise = np.radians(pose.shoulder + pose.wrist * smoothstep(0.2, 0.6, s))
    middle = 0.5 * (rise[1:] + rise[:-1])
    out, up = (
        np.concatenate([[0.0], WING_LENGTH / (10 * WING_STATIONS) * np.cumsum(f(middle))]) for f in (np.cos, np.sin)
    )
    at = slice(10, None, 10)
    s, rise, out, up = s[at], rise[at], out[at], up[at]
    front, back = (PchipInterpolator(wing_edges[:, 0], wing_edges[:, k])(s) for k in (1, 2))
    u = np.linspace(0.0, 1.0, CHORD_POINTS)
    x = front[:, None] + (back - front)[:, None] * u
    arch = (WING_THICKNESS[0] + (WING_THICKNESS[1] - WING_THICKNESS[0]) * s)[:, None] * 4.0 * u * (1.0 - u)
    quarter = (0.75 * front + 0.25 * back)[:, None]
    twist = np.radians(pose.twist * s)[:, None]
    side = BODY_RINGS[list(WING_ROOT_RINGS)]
    places = []
    for height in (arch, -LOWER_SURFACE_FRACTION * arch):
        forward = (x - quarter) * np.cos(twist) - height * np.sin(twist)
        lifted = (x - quarter) * np.sin(twist) + height * np.cos(twist)
        y = side[:, 2] + out[:, None] - lifted * np.sin(rise)[:, None]
        z = side[:, 1] * (1.0 - s)[:, None] + up[:, None] + lifted * np.cos(rise)[:, None]
        places.append(np.stack([quarter + forward, y, z], axis=2))
    above, below = places
    rows = [np.vstack([above[k], below[k, 1:-1]]) for k in range(WING_STATIONS - 1)]
    # the tip is one sheet, in the middle of what both would be
    return np.vstack([*rows, 0.5 * (above[-1] + below[-1])])


def _build_tail_vertices(body: Array, pose: SeagullPose) -> Array:
    """Rows of the tail behind the first ring: from its upper half to a flat fan with a rounded end."""
    root = body[:TAIL_COLUMNS]
    side = 1.0 - np.arange(TAIL_COLUMNS) / (TAIL_COLUMNS // 2)
    share = (np.arange(TAIL_ROWS) + 1.0)[:, None] / TAIL_ROWS
    flat = smoothstep(0.0, 0.5, share)
    length = TAIL_LENGTH * (1.0 - 0.12 * side**2) * share
    wide = BODY_RINGS[0, 2] + (pose.spread * TAIL_HALF_WIDTH - BODY_RINGS[0, 2]) * share
    y = root[:, 1] * (1.0 - flat) + wide * side * flat
    z = root[:, 2] * (1.0 - flat) + (BODY_RINGS[0, 1] - TAIL_SAG * side**2 * share) * flat
    rise = np.radians(pose.tail) * share
    return np.stack([root[0, 0] - length * np.cos(rise), y, z + length * np.sin(rise)], axis=2).reshape(-1, 3)


def _build_unit_sphere() -> tuple[Array, IndexArray]:
    """Octahedron subdivided once: 18 points on the unit sphere and 32 outward triangles."""
    points = [np.array(p, dtype=float) for p in ((1, 0, 0), (-1, 0, 0), (0, 1, 0), (0, -1, 0), (0, 0, 1), (0, 0, -1))]
    number: dict[tuple[int, int], int] = {}

    def get_midpoint_index(i: int, j: int) -> int:
        key = (min(i, j), max(i, j))
        if key not in number:
            number[key] = len(points)
            points.append((points[i] + points[j]) / np.linalg.norm(points[i] + points[j]))
        return number[key]

    faces = []
    for i in (0, 1):
        for j in (2, 3):
            for k in (4, 5):
                outward = np.dot(np.cross(points[i], points[j]), points[k]) > 0
                a, b, c = (i, j, k) if outward else (i, k, j)
                d, e, f = get_midpoint_index(a, b), get_midpoint_index(b, c), get_midpoint_index(c, a)
                faces += [(a, d, f), (d, b, e), (f, e, c), (d, e, f)]
    return np.array(points), np.array(faces)


def _build_triangles() -> IndexArray:
    # of the points of an eyeball the one at -y, inside the head
    eye_inner_vertex = 3
    first = compute_part_offsets()
    ball = _build_unit_sphere()[1]
    parts = [_build_body_triangles()]
    for at, side, flip in ((first["left"], 0, False), (first["right"], RING_SIDES // 2, True)):
        faces = _build_wing_triangles(at, side)
        parts.append(faces[:, ::-1] if flip else faces)
    parts.append(_build_tail_triangles(first["tail"]))
    ring, side = EYE_ATTACHMENT
    for at, k, faces in ((first["left eye"], side, ball), (first["right eye"], RING_SIDES // 2 - side, ball[:, ::-1])):
        parts += [faces + at, np.array([[ring * RING_SIDES + k, (ring + 1) * RING_SIDES + k, at + eye_inner_vertex]])]
    ring, side = FOOT_ATTACHMENT
    for at, k in ((first["toes"], side), (first["toes"] + 2, 3 * RING_SIDES // 2 - side)):
        z, a, b = ((ring + d) * RING_SIDES + k for d in (-1, 0, 1))
        c, d = at, at + 1
        parts.append(np.array([[a, b, c], [b, a, d], [a, c, d], [b, d, c], [z, a, c]]))
    return np.vstack(parts)


def _build_body_triangles() -> IndexArray:
    i, k = (index.ravel() for index in np.indices((len(BODY_RINGS) - 1, RING_SIDES)))
    a, b = i * RING_SIDES + k, i * RING_SIDES + (k + 1) % RING_SIDES
    c, d = a + RING_SIDES, b + RING_SIDES
    k = np.arange(RING_SIDES)
    after, last, tail = (k + 1) % RING_SIDES, (len(BODY_RINGS) - 1) * RING_SIDES, len(BODY_RINGS) * RING_SIDES
    caps = [
        np.column_stack([after, k, np.full(RING_SIDES, tail)]),
        np.column_stack([last + k, last + after, np.full(RING_SIDES, tail + 1)]),
    ]
    return np.vstack([np.column_stack([a, b, c]), np.column_stack([b, d, c]), *caps])


def _build_wing_triangles(first: int, side: int) -> IndexArray:
    """Triangles of both sheets of a wing welded to `side` of the rings, oriented as for the left wing."""
    root = np.array([ring * RING_SIDES + side for ring in WING_ROOT_RINGS])
    faces = []
    for below in (False, True):
        rows = [root] + [
            np.array([first + get_wing_vertex(station, place, below) for place in range(CHORD_POINTS)])
            for station in range(1, WING_STATIONS + 1)
        ]
        for station, (near, far) in enumerate(pairwise(rows)):
            a, b, c, d = near[:-1], near[1:], far[:-1], far[1:]
            # both sheets have their root, their tip and their edges in common: in two corners only one of the
            # diagonals keeps their triangles apart
            other = np.zeros(len(a), dtype=bool)
            other[0], other[-1] = station == 0, station == WING_STATIONS - 1
            one = np.where(other[:, None], np.column_stack([a, c, d]), np.column_stack([a, c, b]))
            two = np.where(other[:, None], np.column_stack([a, d, b]), np.column_stack([b, c, d]))
            sheet = np.vstack([one, two])
            faces.append(sheet if not below else sheet[:, ::-1])
    return np.vstack(faces)


def _build_tail_triangles(first: int) -> IndexArray:
    rows = [np.arange(TAIL_COLUMNS)] + [
        first + TAIL_COLUMNS * row + np.arange(TAIL_COLUMNS) for row in range(TAIL_ROWS)
    ]
    faces = []
    for near, far in pairwise(rows):
        a, b, c, d = near[:-1], near[1:], far[:-1], far[1:]
        faces += [np.column_stack([a, c, b]), np.column_stack([b, c, d])]
    return np.vstack(faces)


WHITE, GREY, DARK, PALE = (0.96, 0.96, 0.95), (0.58, 0.62, 0.67), (0.07, 0.07, 0.09), (0.88, 0.89, 0.90)
ORANGE, BEAK_COLOR, PUPIL_COLOR = (0.93, 0.52, 0.22), (0.97, 0.60, 0.10), (0.03, 0.03, 0.04)
# the ring that the beak begins with; along the wing, where grey turns to black
BEAK_FIRST_RING, WING_TIP_RANGE = 19, (0.72, 0.80)
BODY_GLOSS, EYE_GLOSS = 0.05, 0.9


def build_seagull_skin(mesh: MeshTri) -> Skin:
    """Colours, parts and gloss of the bird's vertices."""
    parts = ("body", "beak", "left wing", "right wing", "tail", "eyes", "feet")
    n, first = len(mesh.vertices), compute_part_offsets()
    labels, colors, gloss = np.zeros(n, dtype=np.int64), np.tile(WHITE, (n, 1)), np.full(n, BODY_GLOSS)
    rings = len(BODY_RINGS) * RING_SIDES
    labels[BEAK_FIRST_RING * RING_SIDES : rings] = labels[rings + 1] = parts.index("beak")
    for part, at in (("left wing", first["left"]), ("right wing", first["right"])):
        rows = slice(at, at + count_wing_vertices())
        labels[rows], colors[rows] = parts.index(part), _compute_wing_colors()
    labels[first["tail"] : first["left eye"]] = parts.index("tail")
    labels[first["left eye"] : first["toes"]] = parts.index("eyes")
    labels[first["toes"] :] = parts.index("feet")
    for part, color in (("beak", BEAK_COLOR), ("eyes", PUPIL_COLOR), ("feet", ORANGE)):
        colors[labels == parts.index(part)] = color
    gloss[labels == parts.index("eyes")] = EYE_GLOSS
    return Skin(mesh, colors, parts, labels, gloss)


def _compute_wing_colors() -> Array:
    """Grey above, pale below and along the back edge, black towards the tip."""
    colors = np.empty((count_wing_vertices(), 3))
    share = np.empty(count_wing_vertices())
    for station in range(1, WING_STATIONS + 1):
        for place in range(CHORD_POINTS):
            # above comes last: it wins where both sheets have one vertex
            for below in (True, False):
                number = get_wing_vertex(station, place, below)
                colors[number] = PALE if below or place == CHORD_POINTS - 1 else GREY
                share[number] = station / WING_STATIONS
    return mix_colors(colors, DARK, smoothstep(*WING_TIP_RANGE, share))
