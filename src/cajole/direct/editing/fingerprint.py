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
from cajole.animation.blocks import blocks
from cajole.arrays import Array
from cajole.errors import FileError
from cajole.storage import content_hash

# Inputs are the same where they differ by no more than this share of the size: far above rounding, far below sight.
ROUNDING = 1e-9
# Far from the origin coordinates round by their own size: this share of the largest counts as size.
OFFSET = 1e-3
# Projections of each group of frames, and groups at most: the estimate of a distance is good to a third.
PROJECTIONS, GROUPS = 8, 64
# how a message names what differs, numbers first
COUNTED = {"vertices": "vertices", "frames": "frames", "fps": "frames per second"}
HASHED = {"elements": "elements of its mesh", "rest": "rest shape of its mesh", "motion": "positions over time"}


def fingerprint(animation: Animation) -> dict[str, Any]:
    """Counts, hashes of contents, and projections: plain numbers, words, lists and objects."""
    return {**counts_and_hashes(animation), "projections": projections(animation)}


def counts_and_hashes(animation: Animation) -> dict[str, Any]:
    """What tells one input from another: counts to read, and contents by their hash."""
    mesh, contacts = animation.mesh, animation.contacts
    frames = [content_hash(block) for block in _frames(animation)]
    return {
        "vertices": animation.n,
        "frames": animation.frames,
        "fps": animation.fps,
        "elements": content_hash(type(mesh).__name__, mesh.elements),
        "rest": content_hash(mesh.vertices),
        "motion": content_hash(*frames),
        "contacts": None
        if contacts is None or not len(contacts)
        else content_hash(contacts.frame, contacts.vertex, contacts.normal, contacts.kind, contacts.other),
    }


def projections(animation: Animation) -> dict[str, Any]:
    """rest, normals: (1, PROJECTIONS); motion: (groups, PROJECTIONS) of displacements; touching: a hash, or None."""
    contacts = animation.contacts
    normals = np.empty((0, 3)) if contacts is None else contacts.normal
    touching = (
        None if contacts is None else content_hash(contacts.frame, contacts.vertex, contacts.kind, contacts.other)
    )
    return {
        "rest": _projected(animation.mesh.vertices.reshape(1, -1)).tolist(),
        "motion": _grouped(animation).tolist(),
        "normals": _projected(normals.reshape(1, -1)).tolist(),
        "touching": touching if len(normals) else None,
    }


def require_same_input(path: Path, theirs: Mapping[str, Any], animation: Animation) -> tuple[str, ...]:
    """Notes on what differs by rounding. Raises FileError naming the first thing that differs by more.

    theirs: the fingerprint in the file `path`; files without projections are recognised by their hashes alone.
    """
    ours = counts_and_hashes(animation)
    for name, words in COUNTED.items():
        if theirs[name] != ours[name] and (name != "fps" or _rate_difference(theirs, ours) > ROUNDING):
            raise FileError(
                f"{path} is for another animation, of {theirs[name]:.12g} {words}; this one has {ours[name]:.12g}"
            )
    notes = []
    if theirs["fps"] != ours["fps"]:
        off = _rate_difference(theirs, ours)
        notes.append(f"the frames per second differ by {off:.1e} of those that were edited, which is rounding")
    for name, words in HASHED.items():
        if theirs[name] != ours[name]:
            notes.append(_rounding_note(path, words, theirs.get("projections"), name, animation))
    if theirs["contacts"] != ours["contacts"] and not _same_contacts(theirs, animation):
        remedy = "leave them out" if theirs["contacts"] is None else "give those of the edit, found in the same way"
        raise FileError(f"{path} is for other contacts than these; {remedy}")
    return tuple(notes)


def _rate_difference(theirs: Mapping[str, Any], ours: Mapping[str, Any]) -> float:
    """Difference of the frames per second, relative to the stored ones."""
    return float(abs(theirs["fps"] - ours["fps"]) / theirs["fps"])


def _rounding_note(path: Path, words: str, stored: Mapping[str, Any] | None, name: str, animation: Animation) -> str:
    """What differs by rounding. Raises FileError where it is more, with its measure where the file has projections."""
    by = ""
    if stored is not None and name != "elements":
        found = _distance(stored[name], projections(animation)[name])
        size = max(animation.mesh.size, OFFSET * float(np.abs(animation.bounds).max()))
        if found <= ROUNDING * size:
            return f"the {words} differ by {found:.1e} m from those that were edited, which is rounding"
        by = f" by about {found:.2g} m (root of the sum of squares over all coordinates)"
    raise FileError(
        f"{path} is for another animation: the {words} differ{by}. Open the one that was edited, from the same file "
        "(formats round differently)"
    )


def _same_contacts(theirs: Mapping[str, Any], animation: Animation) -> bool:
    """True if the contacts are of the same vertices in the same frames, with normals that differ by rounding."""
    stored, ours = theirs.get("projections"), projections(animation)
    if stored is None or stored["touching"] is None or stored["touching"] != ours["touching"]:
        return False
    return _distance(stored["normals"], ours["normals"]) <= ROUNDING


def _distance(theirs: list[list[float]], ours: list[list[float]]) -> float:
    """The estimated Euclidean distance of two inputs by their projections; inf where those are of other groups."""
    a, b = np.array(theirs), np.array(ours)
    return float(np.sqrt(((a - b) ** 2).mean(axis=1).sum())) if a.shape == b.shape else np.inf


def _frames(animation: Animation) -> Iterator[Array]:
    for block in blocks(animation.frames, animation.n):
        yield np.ascontiguousarray(animation.positions[block], dtype=np.float64)


def _grouped(animation: Animation) -> Array:
    """(groups, PROJECTIONS) of the displacements from rest; frames of one group are weighed and summed."""
    rest = animation.mesh.vertices
    weights = _weights(3 * animation.n, PROJECTIONS)
    each = np.concatenate([(block - rest).reshape(len(block), -1) @ weights for block in _frames(animation)])
    each *= _weights(len(each), PROJECTIONS, seed=1)
    starts = np.unique(np.linspace(0, len(each), GROUPS, endpoint=False).astype(np.int64))
    return np.asarray(np.add.reduceat(each, starts, axis=0))


def _projected(rows: Array) -> Array:
    return np.asarray(rows @ _weights(rows.shape[1], PROJECTIONS))


def _weights(count: int, columns: int, *, seed: int = 0) -> Array:
    """(count, columns) pseudo-random weights of mean 0 and variance 1, the same in every version: splitmix64."""
    k = np.arange(1, count * columns + 1, dtype=np.uint64) + (np.uint64(seed) << np.uint64(48))
    k *= np.uint64(0x9E3779B97F4A7C15)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        k = (k ^ (k >> np.uint64(shift))) * np.uint64(factor)
    k ^= k >> np.uint64(31)
    uniform = (k >> np.uint64(11)) * 2.0**-53
    return np.sqrt(12.0) * (uniform - 0.5).reshape(count, columns)
