"""Keys: poses wanted at frames, their checks, and their costs on the reduced state."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from cajole import checks
from cajole.animation import Animation
from cajole.arrays import Array
from cajole.body import Body
from cajole.body.solid import InversionReport, find_inverted_tets
from cajole.errors import InputError
from cajole.reduction import ReducedModel

# Distance [body sizes] within which a fixed vertex is at its rest position.
FIXED_VERTEX_TOLERANCE = 1e-6


@dataclass(frozen=True, eq=False)
class Key:
    """A pose wanted at a frame.

    displacement: (n, 3) [m]; vertices: only these have a cost, the others are free; weight: relative to other keys;
    hard: met exactly instead of weighed against effort.
    """

    displacement: ArrayLike
    vertices: ArrayLike | None = None
    weight: float = 1.0
    hard: bool = False


KeysLike = Mapping[int, Key | ArrayLike] | Iterable[tuple[int, Key | ArrayLike]]


def check_keys(
    body: Body, keys: KeysLike, frames: int | None, *, loop: bool = False, fixed_displacement: Array | None = None
) -> tuple[dict[int, Key], int]:
    """Checked keys in order of time, and the number of frames (up to the last key when None).

    loop: frames count modulo their number. fixed_displacement: (n, 3) of the fixed vertices; at rest when None.
    """
    checks.require_bool(loop, "loop")
    pairs = parse_key_pairs(keys)
    last = max(frame for frame, _ in pairs)
    if loop and frames is None:
        raise InputError("a loop needs frames: how many until the motion comes back to where it began")
    count = last + 1 if frames is None else checks.require_integer(frames, "frames", minimum=2)
    if last >= count and not loop:
        raise InputError(f"a key stands at frame {last}, but there are only frames 0..{count - 1}; raise frames")
    checked: dict[int, Key] = {}
    for frame, key in pairs:
        place = frame % count
        if place in checked:
            raise InputError(f"two keys stand at frame {place}; keep one of them, or move one to another frame")
        checked[place] = _check_key(body, key, frame, fixed_displacement)
    return dict(sorted(checked.items())), count


def parse_key_pairs(keys: KeysLike) -> list[tuple[int, Key | ArrayLike]]:
    """Frames and keys in the order given."""
    wrong = InputError("keys must map frames to poses, e.g. {60: pose_a, 120: pose_b}; give at least one")
    try:
        pairs = [(frame, key) for frame, key in (keys.items() if isinstance(keys, Mapping) else keys)]
    except (TypeError, ValueError):
        raise wrong from None
    if not pairs:
        raise wrong
    return [(checks.require_integer(frame, "the frame of a key", minimum=0), key) for frame, key in pairs]


def _check_key(body: Body, key: Key | ArrayLike, frame: int, fixed_displacement: Array | None) -> Key:
    given = key if isinstance(key, Key) else Key(key)
    pose = require_displacement(body, given, frame)
    still = pose[body.fixed] - (0.0 if fixed_displacement is None else fixed_displacement[body.fixed])
    moved = body.fixed[np.abs(still).max(axis=1, initial=0.0) > 1e-9 * body.size]
    if len(moved):
        raise InputError(
            f"the key at frame {frame} moves vertex {moved[0]}, which the body fixes; free it or correct the key"
        )
    require_few_inversions(body, pose, f"the key at frame {frame}")
    vertices = None
    if given.vertices is not None:
        vertices = checks.require_index_array(
            given.vertices, f"vertices of the key at frame {frame}", (None,), body.vertex_count
        )
        if len(vertices) == 0:
            raise InputError(f"the key at frame {frame} names no vertices; leave vertices out to mean all of them")
        if np.isin(vertices, body.fixed).all():
            raise InputError(f"the key at frame {frame} names only vertices that the body fixes; name some that move")
    weight = checks.require_positive(given.weight, f"weight of the key at frame {frame}")
    return Key(pose, vertices, weight, bool(given.hard))


def require_displacement(body: Body, key: Key, frame: int) -> Array:
    """The key's displacement (n, 3) [m]. Raises InputError for animations and for positions."""
    if isinstance(key.displacement, Animation):
        raise InputError(
            f"the key at frame {frame} is an animation; give one frame of it, as in animation.displacements[-1]"
        )
    pose = body.check_vertex_vectors(key.displacement, f"key at frame {frame}")
    # positions have the shape of the body itself, or fixed vertices at their rest positions, away from the origin
    fixed, near = body.vertices[body.fixed], FIXED_VERTEX_TOLERANCE * body.size
    is_away = np.abs(fixed).max(initial=0.0) > 1e3 * near
    rest, centred = body.vertices - body.vertices.mean(axis=0), pose - pose.mean(axis=0)
    # as displacements, a shape this close to the rest shape would enlarge the body to about twice its size
    if (is_away and np.abs(pose[body.fixed] - fixed).max() <= near) or (
        np.linalg.norm(centred - rest) < 0.5 * np.linalg.norm(rest)
    ):
        raise InputError(
            f"the key at frame {frame} looks like positions of the vertices, but keys are displacements; subtract"
            " body.vertices from it"
        )
    return pose


def require_few_inversions(body: Body, pose: Array, name: str) -> None:
    """Raise InputError if the key `name` inverts more than a few tets.

    The cost of a key is a distance of vertices, without elements: a few inverted tets do no harm.
    """
    found = find_inverted_tets(body, pose)
    if found is None or found.volume_share <= InversionReport.MAX_FEW:
        return
    if found.volume_share > InversionReport.MIRRORED:
        raise InputError(
            f"{name} turns {found.count_text} inside out: the shape is mirrored or pressed through itself, and no "
            "motion leads there; of a shape from another program, check the axes, the order of its vertices, and that "
            "body.vertices were subtracted; of one under loads, reduce them"
        )
    raise InputError(
        f"{name} turns {found.count_text} inside out, {100 * found.volume_share:.2g} % of the volume, where "
        f"{100 * InversionReport.MAX_FEW:g} % are accepted; {found.location_text}; {InversionReport.REMEDY}"
    )


def describe_inversions(body: Body, poses: Mapping[int, Array]) -> tuple[str, ...]:
    """Notes on the few tets that keys {frame: pose (n, 3)} invert; empty if there are none."""
    found = {frame: find_inverted_tets(body, pose) for frame, pose in poses.items()}
    return tuple(
        f"the key at frame {frame} has {each.count_text} inside out, which the cost does not see; "
        f"{each.location_text}; {InversionReport.REMEDY}"
        for frame, each in found.items()
        if each is not None
    )


def build_key_cost(model: ReducedModel, key: Key) -> tuple[Array, Array]:
    """H (r, r) and t (r,) of ½ (q - t)ᵀ H (q - t) [m L²]; a full key of weight one has H = I.

    A partial key costs ½ w m/k Σ|u_v - d_v|² over its k vertices, so that weights mean the same.
    """
    pose = np.asarray(key.displacement)
    if key.vertices is None:
        return key.weight * np.eye(model.size), model.project(pose)
    rows, wanted = build_key_rows(model, key)
    H = key.weight * rows.T @ rows
    return H, np.linalg.pinv(rows, rcond=1e-10) @ wanted


def build_key_rows(model: ReducedModel, key: Key) -> tuple[Array, Array]:
    """Rows S (3k, r) and targets (3k,) of a partial key, scaled by √(m/k)."""
    vertices = np.asarray(key.vertices)
    scale = np.sqrt(model.body.total_mass / len(vertices))
    rows = model.basis.reshape(-1, 3, model.size)[vertices].reshape(-1, model.size)
    return scale * rows, scale * (np.asarray(key.displacement) - model.lift(np.zeros(model.size)))[vertices].ravel()


def build_hard_rows(model: ReducedModel, key: Key, tolerance: float) -> Array:
    """Orthonormal rows (k, r) of the state that a hard key constrains.

    A full key constrains all. Of a partial key, combinations that move its vertices by less than `tolerance` of the
    largest are left to the cost: to constrain them would take large forces without a visible effect.
    """
    if key.vertices is None:
        return np.eye(model.size)
    _, values, vectors = np.linalg.svd(build_key_rows(model, key)[0], full_matrices=False)
    return np.asarray(vectors[values > tolerance * values.max(initial=0.0)])


def compute_key_error(model: ReducedModel, key: Key, state: Array) -> float:
    """Root-mean-square distance from the key in body sizes, over its vertices."""
    body = model.body
    miss = model.lift(state) - np.asarray(key.displacement)
    if key.vertices is not None:
        part = miss[np.asarray(key.vertices)]
        return float(np.sqrt((part**2).sum(axis=1).mean()) / body.size)
    flat = miss.ravel()
    return float(np.sqrt(flat @ (body.mass @ flat) / body.total_mass) / body.size)
