"""The linear constraints of an edit: rows of clustered contacts, followed by the rows of user constraints."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from cajole.animation import Contacts
from cajole.arrays import Array, IndexArray
from cajole.direct.editing.constraints import ConstraintKey, VertexConstraint
from cajole.direct.editing.edit_model import EditModel
from cajole.direct.editing.linear_constraints import NEGLIGIBLE_MODE_WEIGHT, LinearConstraints
from cajole.direct.editing.spacetime import EditSettings, SpacetimeEnergy


@dataclass(frozen=True, eq=False)
class LinearisedConstraint:
    """A constraint, the weights (k, r) of its rows, and the linear targets (k,) whose warped position meets it."""

    constraint: VertexConstraint
    rows: Array
    linear_targets: Array


@dataclass(frozen=True, eq=False)
class EditState:
    """Everything that undo restores."""

    constraints: dict[ConstraintKey, LinearisedConstraint]
    settings: EditSettings

    def with_constraints(self, added: list[LinearisedConstraint], *, last: bool = False) -> EditState:
        """With constraints added or replaced; last: after all others, as the rows of an active drag must be."""
        new = {each.constraint.key: each for each in added}
        kept = {key: each for key, each in self.constraints.items() if not (last and key in new)}
        return replace(self, constraints={**kept, **new})

    def without_constraint(self, key: ConstraintKey) -> EditState:
        """With one constraint removed."""
        return replace(self, constraints={k: each for k, each in self.constraints.items() if k != key})


class ConstraintSystem:
    """Rows of the clustered contacts, then of the user constraints in the order in which they were added."""

    def __init__(self, model: EditModel, settings: EditSettings, clustered_contacts: Contacts | None):
        self.model, self._clustered_contacts, self._settings = model, clustered_contacts, settings
        self._linearised = list[LinearisedConstraint]()
        self.linear_constraints = self._build_contact_rows(settings)
        self._contact_row_count = len(self.linear_constraints)

    @property
    def spacetime(self) -> SpacetimeEnergy:
        return self.linear_constraints.spacetime

    def synchronise(self, state: EditState) -> None:
        """Make the rows, the energy and the linear targets those of `state`; keep the factor of unchanged rows."""
        if state.settings != self._settings:
            self.linear_constraints = self._build_contact_rows(state.settings)
            self._settings, self._contact_row_count = state.settings, len(self.linear_constraints)
            self._linearised = []
        wanted = list(state.constraints.values())
        # rows that stay are a subsequence of those wanted; the others are added again after them
        keep, kept_count = list[bool](), 0
        for each in self._linearised:
            keep.append(kept_count < len(wanted) and each.rows is wanted[kept_count].rows)
            kept_count += keep[-1]
        if not all(keep):
            masks = [np.full(len(each.linear_targets), mark) for each, mark in zip(self._linearised, keep)]
            self.linear_constraints.keep_rows(np.concatenate([np.ones(self._contact_row_count, dtype=bool), *masks]))
        for each in wanted[kept_count:]:
            self.linear_constraints.add(each.constraint.frame, each.rows, each.linear_targets)
        self._linearised = wanted
        if wanted:
            targets = np.concatenate([each.linear_targets for each in wanted])
            self.linear_constraints.targets[self._contact_row_count :] = targets

    def get_row_indices(self, key: ConstraintKey) -> IndexArray:
        """Indices of the rows of a constraint."""
        start = self._contact_row_count
        for each in self._linearised:
            if each.constraint.key == key:
                return np.arange(start, start + len(each.linear_targets))
            start += len(each.linear_targets)
        raise KeyError(key)

    def find_redundant(self) -> tuple[ConstraintKey, ...]:
        """Constraints with at least one row that depends on the rows before it."""
        dependent = set(self.linear_constraints.dependent_rows.tolist())
        keys = [each.constraint.key for each in self._linearised]
        return tuple(key for key in keys if dependent & set(self.get_row_indices(key).tolist()))

    def compute_reduced_coordinates(self, frame: int) -> Array:
        """Modal coordinates z (r,) of a frame."""
        if not len(self.linear_constraints):
            return np.zeros(self.spacetime.mode_count)
        return self.linear_constraints.solve_frame(frame, self.linear_constraints.solve_multipliers())

    def _build_contact_rows(self, settings: EditSettings) -> LinearConstraints:
        """Independent rows of the clustered contacts; the warp preserves all others as well."""
        spacetime = SpacetimeEnergy(self.model.eigenvalues, self.model.animation.frames, settings)
        linear_constraints, contacts = LinearConstraints(spacetime), self._clustered_contacts
        if contacts is None:
            return linear_constraints
        for frame in np.unique(contacts.frame):
            if not spacetime.first_frame <= frame <= spacetime.last_frame:
                continue
            rows = self.model.build_contact_rows(contacts, int(frame))
            weights = np.empty((len(rows.vertices), spacetime.mode_count))
            for k, (direction, vertex, other) in enumerate(zip(rows.directions, rows.vertices, rows.others)):
                weights[k] = direction @ self.model.compute_constraint_rows(int(vertex), int(other))
            moved = np.abs(weights).max(axis=1) > NEGLIGIBLE_MODE_WEIGHT * np.abs(self.model.mode_shapes).max()
            if moved.any():
                linear_constraints.add(int(frame), weights[moved], np.zeros(int(moved.sum())))
        keep = np.ones(len(linear_constraints), dtype=bool)
        keep[linear_constraints.dependent_rows] = False
        if not keep.all():
            linear_constraints.keep_rows(keep)
        return linear_constraints
