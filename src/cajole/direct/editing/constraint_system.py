"""The linear side of an edit: its rows, those of contacts first, in step with what is held."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from cajole.animation import Contacts
from cajole.arrays import Array, IndexArray
from cajole.direct.editing.edit_model import EditModel
from cajole.direct.editing.linear_constraints import NEGLIGIBLE_MODE_WEIGHT, LinearConstraints
from cajole.direct.editing.spacetime import EditSettings, SpacetimeEnergy
from cajole.direct.editing.vertex_constraints import ConstraintKey, VertexConstraint


@dataclass(frozen=True, eq=False)
class LinearisedConstraint:
    """A hold, the weights (k, r) of its rows, and the linear targets (k,) that bring it where it belongs."""

    constraint: VertexConstraint
    rows: Array
    linear_targets: Array


@dataclass(frozen=True, eq=False)
class EditState:
    """Everything that undo brings back."""

    constraints: dict[ConstraintKey, LinearisedConstraint]
    settings: EditSettings

    def with_constraints(self, *added: LinearisedConstraint) -> EditState:
        """With more held, or the same elsewhere."""
        return replace(self, constraints={**self.constraints, **{each.constraint.key: each for each in added}})

    def with_constraints_last(self, *added: LinearisedConstraint) -> EditState:
        """With more held, after everything else: a hand moves the last rows."""
        mine = {each.constraint.key: each for each in added}
        return replace(self, constraints={**{k: each for k, each in self.constraints.items() if k not in mine}, **mine})

    def without_constraint(self, key: ConstraintKey) -> EditState:
        """With one hold less."""
        return replace(self, constraints={k: each for k, each in self.constraints.items() if k != key})


class ConstraintSystem:
    """Rows of the contacts that stand for all, and after them of what is held, in the order it was added."""

    def __init__(self, model: EditModel, settings: EditSettings, clustered_contacts: Contacts | None):
        self.model, self._clustered_contacts = model, clustered_contacts
        self._linearised = list[LinearisedConstraint]()
        self._settings = settings
        self.linear_constraints, self._contact_row_count = self._build_contact_rows(settings)

    @property
    def spacetime(self) -> SpacetimeEnergy:
        return self.linear_constraints.spacetime

    def synchronise(self, state: EditState) -> None:
        """Have the rows of exactly what `state` holds, under its energy, with its linear targets."""
        if state.settings != self._settings:
            rows, contacts = self._build_contact_rows(state.settings)
            self._settings, self.linear_constraints, self._contact_row_count, self._linearised = (
                state.settings,
                rows,
                contacts,
                [],
            )
        wanted = list(state.constraints.values())
        keep = _match_prefix(self._linearised, wanted)
        if not all(keep):
            marks = [np.full(len(held.linear_targets), mark) for held, mark in zip(self._linearised, keep)]
            self.linear_constraints.keep_rows(np.concatenate([np.ones(self._contact_row_count, dtype=bool), *marks]))
        for held in wanted[sum(keep) :]:
            self.linear_constraints.add(held.constraint.frame, held.rows, held.linear_targets)
        self._linearised = wanted
        if self._linearised:
            self.linear_constraints.targets[self._contact_row_count :] = np.concatenate(
                [held.linear_targets for held in self._linearised]
            )

    def get_row_indices(self, key: ConstraintKey) -> IndexArray:
        """Indices of the rows of a hold."""
        start = self._contact_row_count
        for held in self._linearised:
            if held.constraint.key == key:
                return np.arange(start, start + len(held.linear_targets))
            start += len(held.linear_targets)
        raise KeyError(key)

    def find_redundant(self) -> tuple[ConstraintKey, ...]:
        """Holds of which some direction follows from the rows before it."""
        late = set(self.linear_constraints.dependent_rows.tolist())
        return tuple(
            held.constraint.key
            for held in self._linearised
            if late & set(self.get_row_indices(held.constraint.key).tolist())
        )

    def compute_reduced_coordinates(self, frame: int) -> Array:
        """z (r,) of a frame."""
        if not len(self.linear_constraints):
            return np.zeros(self.spacetime.mode_count)
        return self.linear_constraints.solve_frame(frame, self.linear_constraints.solve_multipliers())

    def compute_linear_displacement(self, frame: int) -> Array:
        """The linear change (n, 3) of a frame."""
        return self.model.compute_linear_displacements(self.compute_reduced_coordinates(frame)[:, None])[0]

    def _build_contact_rows(self, settings: EditSettings) -> tuple[LinearConstraints, int]:
        """Rows of the contacts alone; those that follow from others, or that no mode moves, are left to the warp."""
        spacetime = SpacetimeEnergy(self.model.eigenvalues, self.model.animation.frames, settings)
        linear_constraints, contacts = LinearConstraints(spacetime), self._clustered_contacts
        if contacts is None:
            return linear_constraints, 0
        for frame in np.unique(contacts.frame):
            if not spacetime.first_frame <= frame <= spacetime.last_frame:
                continue
            directions, vertices, others = self.model.collect_contact_rows(contacts, int(frame))
            weights = np.empty((len(vertices), spacetime.mode_count))
            for k, (n, vertex, other) in enumerate(zip(directions, vertices, others)):
                weights[k] = n @ self.model.compute_constraint_rows(int(vertex), int(other))
            moved = np.abs(weights).max(axis=1) > NEGLIGIBLE_MODE_WEIGHT * np.abs(self.model.mode_shapes).max()
            if moved.any():
                linear_constraints.add(int(frame), weights[moved], np.zeros(int(moved.sum())))
        keep = np.ones(len(linear_constraints), dtype=bool)
        keep[linear_constraints.dependent_rows] = False
        if not keep.all():
            linear_constraints.keep_rows(keep)
        return linear_constraints, len(linear_constraints)


def _match_prefix(current: list[LinearisedConstraint], wanted: list[LinearisedConstraint]) -> list[bool]:
    """Which of the rows that are there begin those that are wanted, in their order; the others must be added anew."""
    keep, found = list[bool](), 0
    for held in current:
        keep.append(found < len(wanted) and held.rows is wanted[found].rows)
        found += keep[-1]
    return keep
