"""The exceptions and warnings of Cajole.

CajoleError                     catch this to catch all of them
├── InputError (ValueError)     a value handed in is wrong: which, where, what to do
│   ├── MeshError               vertices or elements that cannot be a mesh
│   ├── FileError               a file that cannot be read or written: path, line, remedy
│   └── LoadError               loads that no static pose can balance
├── MissingExtra (ImportError)  an optional package is absent; the message has the pip command
├── Cancelled                   a progress callback asked to stop
└── SolveError (RuntimeError)   valid input, but the numbers did not work out: why, what to relax
    ├── NotConverged            an iteration ran out of steps
    ├── NotPositiveDefinite     a factorisation met a matrix with a non-positive pivot
    └── ModelMismatch           a reduced model whose forces are not those of its body

Warnings, for valid results that are probably not intended:

CajoleWarning (UserWarning)     filter this to filter all of them
└── InversionWarning            a pose turns elements inside out: how many, which, where
"""

from __future__ import annotations


class CajoleError(Exception):
    """Root of all errors that Cajole raises on purpose."""


class InputError(CajoleError, ValueError):
    """A value handed in is wrong."""


class MeshError(InputError):
    """Vertices or elements that cannot be a mesh."""


class FileError(InputError):
    """A file that cannot be read or written."""


class LoadError(InputError):
    """Loads that no static pose can balance."""


class MissingExtra(CajoleError, ImportError):
    """An optional package is absent."""

    def __init__(self, package: str, extra: str, purpose: str):
        super().__init__(f"{purpose} needs the package {package}: pip install 'cajole[{extra}]'")
        self._arguments = package, extra, purpose

    def __reduce__(self) -> tuple[type[MissingExtra], tuple[str, str, str]]:
        # errors of workers are pickled, and by default only the message would be passed to __init__
        return MissingExtra, self._arguments


class Cancelled(CajoleError):
    """A progress callback asked to stop."""


class SolveError(CajoleError, RuntimeError):
    """Valid input, but the numbers did not work out."""


class NotConverged(SolveError):
    """An iteration ran out of steps."""


class NotPositiveDefinite(SolveError):
    """A factorisation met a matrix with a non-positive pivot."""


class ModelMismatch(SolveError):
    """A reduced model whose forces are not those of its body."""


class CajoleWarning(UserWarning):
    """Root of all warnings that Cajole gives on purpose."""


class InversionWarning(CajoleWarning):
    """A pose turns elements inside out."""
