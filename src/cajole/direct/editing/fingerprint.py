"""The fingerprint of an animation: recognises the input of a saved edit, exactly or up to rounding.

Hashes of the content give the quick, exact answer. Where a hash differs, random projections measure by how much: with
weights w of mean 0 and variance 1, the mean of (w·d)² estimates |d|², so projections of two inputs that are stored as a
few numbers each tell the distance between them. A difference of rounding, as between runs with other threads, is small
against the size of the mesh; any other is refused with its measure.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from cajole.animation import Animation
from cajole.animation.frame_blocks import iter_frame_blocks
from cajole.arrays import Array
from cajole.errors import FileError
from cajole.storage import hash_content

# Largest difference of equal inputs, relative to the size: far above rounding, far below what is visible.
ROUNDING_TOLERANCE = 1e-9
# Projections of each group of frames, and groups at most: distances are estimated to a third.
PROJECTION_COUNT, MAX_FRAME_GROUPS = 8, 64
# Names in messages.
COUNT_LABELS = {"vertices": "vertices", "frames": "frames", "fps": "frames per second"}
HASH_LABELS = {"elements": "elements of its mesh", "rest": "rest shape of its mesh", "motion": "positions over time"}


def compute_fingerprint(animation: Animation) -> dict[str, Any]:
    """Counts, hashes of contents, and projections: plain numbers, words, lists and objects."""
    return {**compute_counts_and_hashes(animation), "projections": compute_projections(animation)}


def compute_counts_and_hashes(animation: Animation) -> dict[str, Any]:
    """Counts, and hashes of the contents, that identify an input."""
    mesh, contacts = animation.mesh, animation.contacts
    frames = [hash_content(block) for block in _iterate_frame_blocks(animation)]
    return {
        "vertices": animation.n,
        "frames": animation.frames,
        "fps": animation.fps,
        "elements": hash_content(type(mesh).__name__, mesh.elements),
        "rest": hash_content(mesh.vertices),
        "motion": hash_content(*frames),
        "contacts": None
        if contacts is None or not len(contacts)
        else hash_content(contacts.frame, contacts.vertex, contacts.normal, contacts.kind, contacts.other),
    }


def compute_projections(animation: Animation) -> dict[str, Any]:
    """Projections of rest and normals (1, k), of displacements (groups, k); touching: a hash of the contacts, or
    None...

    """
    contacts = animation.contacts
    normals = np.empty((0, 3)) if contacts is None else contacts.normal
    touching = (
        None if contacts is None else hash_content(contacts.frame, contacts.vertex, contacts.kind, contacts.other)
    )
    return {
        "rest": _project_rows(animation.mesh.vertices.reshape(1, -1)).tolist(),
        "motion": _project_frame_groups(animation).tolist(),
        "normals": _project_rows(normals.reshape(1, -1)).tolist(),
        "touching": touching if len(normals) else None,
    }


def require_same_input(path: Path, stored: Mapping[str, Any], animation: Animation) -> tuple[str, ...]:
    """Notes on what differs by rounding. Raises FileError naming the first thing that differs by more.

    stored: the fingerprint in the file `path`; files without projections are recognised by their hashes alone.
    """
    current = compute_counts_and_hashes(animation)
    for name, words in COUNT_LABELS.items():
        if stored[name] != current[name] and (
            name != "fps" or _compute_fps_difference(stored, current) > ROUNDING_TOLERANCE
        ):
            raise FileError(
                f"{path} is for another animation, of {stored[name]:.12g} {words}; this one has {current[name]:.12g}"
            )
    notes = []
    if stored["fps"] != current["fps"]:
        off = _compute_fps_difference(stored, current)
        notes.append(f"the frames per second differ by {off:.1e} of those that were edited, which is rounding")
    for name, words in HASH_LABELS.items():
        if stored[name] != current[name]:
            notes.append(_describe_rounding(path, words, stored.get("projections"), name, animation))
    if stored["contacts"] != current["contacts"] and not _has_same_contacts(stored, animation):
        remedy = "leave them out" if stored["contacts"] is None else "give those of the edit, found in the same way"
        raise FileError(f"{path} is for other contacts than these; {remedy}")
    return tuple(notes)


def _compute_fps_difference(stored: Mapping[str, Any], current: Mapping[str, Any]) -> float:
    """Difference of the frames per second, relative to the stored ones."""
    return float(abs(stored["fps"] - current["fps"]) / stored["fps"])


def _describe_rounding(
    path: Path, label: str, stored: Mapping[str, Any] | None, name: str, animation: Animation
) -> str:
    """Note on a difference by rounding.

    Raises FileError for a larger one, with its size if the file has projections.
    """
    by = ""
    if stored is not None and name != "elements":
        found = _estimate_distance(stored[name], compute_projections(animation)[name])
        # far from the origin, rounding is relative to the coordinates
        size = max(animation.mesh.size, 1e-3 * float(np.abs(animation.bounds).max()))
        if found <= ROUNDING_TOLERANCE * size:
            return f"the {label} differ by {found:.1e} m from those that were edited, which is rounding"
        by = f" by about {found:.2g} m (root of the sum of squares over all coordinates)"
    raise FileError(
        f"{path} is for another animation: the {label} differ{by}. Open the one that was edited, from the same file "
        "(formats round differently)"
    )


def _has_same_contacts(stored_input: Mapping[str, Any], animation: Animation) -> bool:
    """True if the contacts are of the same vertices in the same frames, with normals that differ by rounding."""
    stored, current = stored_input.get("projections"), compute_projections(animation)
    if stored is None or stored["touching"] is None or stored["touching"] != current["touching"]:
        return False
    return _estimate_distance(stored["normals"], current["normals"]) <= ROUNDING_TOLERANCE


def _estimate_distance(stored: list[list[float]], current: list[list[float]]) -> float:
    """Euclidean distance of two inputs, estimated from their projections; inf if the groups differ."""
    a, b = np.array(stored), np.array(current)
    return float(np.sqrt(((a - b) ** 2).mean(axis=1).sum())) if a.shape == b.shape else np.inf


def _iterate_frame_blocks(animation: Animation) -> Iterator[Array]:
    for block in iter_frame_blocks(animation.frames, animation.n):
        yield np.ascontiguousarray(animation.positions[block], dtype=np.float64)


def _project_frame_groups(animation: Animation) -> Array:
    """(groups, k) projections of the displacements from rest; frames of a group are weighted and summed."""
    rest = animation.mesh.vertices
    weights = _generate_weights(3 * animation.n, PROJECTION_COUNT)
    each = np.concatenate(
        [(block - rest).reshape(len(block), -1) @ weights for block in _iterate_frame_blocks(animation)]
    )
    each *= _generate_weights(len(each), PROJECTION_COUNT, seed=1)
    starts = np.unique(np.linspace(0, len(each), MAX_FRAME_GROUPS, endpoint=False).astype(np.int64))
    return np.asarray(np.add.reduceat(each, starts, axis=0))


def _project_rows(rows: Array) -> Array:
    return np.asarray(rows @ _generate_weights(rows.shape[1], PROJECTION_COUNT))


def _generate_weights(count: int, columns: int, *, seed: int = 0) -> Array:
    """(count, columns) pseudo-random weights of mean 0 and variance 1, the same in every version: splitmix64."""
    k = np.arange(1, count * columns + 1, dtype=np.uint64) + (np.uint64(seed) << np.uint64(48))
    k *= np.uint64(0x9E3779B97F4A7C15)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        k = (k ^ (k >> np.uint64(shift))) * np.uint64(factor)
    k ^= k >> np.uint64(31)
    uniform = (k >> np.uint64(11)) * 2.0**-53
    return np.asarray(np.sqrt(12.0) * (uniform - 0.5).reshape(count, columns))
