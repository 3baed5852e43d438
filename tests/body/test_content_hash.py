"""Content hashes of bodies: subclasses outside the package never share modes with other classes."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from numpy.typing import ArrayLike

import cajole as cj
from bodies import beam_body
from cajole.arrays import Array
from cajole.body import Body, BodyShell, BodySolid, BodySprings, Capsules, attach_capsules
from cajole.mesh import box_tets, grid_triangles
from cajole.storage import load_from_cache

STIFFER = """
    def stiffness(self, displacement=None):
        return FACTOR * super().stiffness(displacement)
"""


class StifferSolid(BodySolid):
    """Four times as stiff as its material."""

    def stiffness(self, displacement: ArrayLike | None = None) -> Any:
        return 4.0 * super().stiffness(displacement)


class ScaledSolid(BodySolid):
    """As stiff as its factor says."""

    factor = 1.0
    scale: Any = None

    def stiffness(self, displacement: ArrayLike | None = None) -> Any:
        return self.factor * super().stiffness(displacement)


def make_solid(cls: type[BodySolid] = BodySolid) -> Any:
    return cls(box_tets(3, 1, 1), fixed=[0, 1, 2, 3])


def define_solid(source: str, **names: Any) -> type[BodySolid]:
    """A class made by `exec`, without a source file."""
    scope: dict[str, Any] = {"BodySolid": BodySolid, "__name__": __name__, **names}
    exec("class Stiffer(BodySolid):" + source, scope)
    found: type[BodySolid] = scope["Stiffer"]
    return found


def load_module(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def assert_own_frequencies(cls: type[BodySolid]) -> None:
    base = cj.modes(make_solid(), 5).frequencies
    for _ in range(2):  # the second time from the cache, where it was stored
        np.testing.assert_allclose(cj.modes(make_solid(cls), 5).frequencies, 2.0 * base, rtol=1e-9)
    np.testing.assert_array_equal(cj.modes(make_solid(), 5).frequencies, base)


def test_subclass_has_its_own_frequencies_claim() -> None:
    assert_own_frequencies(StifferSolid)
    assert make_solid(StifferSolid).has_stable_content_hash
    assert make_solid(StifferSolid).compute_content_hash() == make_solid(StifferSolid).compute_content_hash()


def test_subclass_without_source_has_its_own_frequencies_claim(monkeypatch: pytest.MonkeyPatch) -> None:
    """A class made by `exec`: nothing is stored for it."""
    cls = define_solid(STIFFER, FACTOR=4.0)
    stored: list[str] = []
    monkeypatch.setattr("cajole.dynamics.modal_analysis.store_in_cache", lambda kind, key, arrays: stored.append(key))
    assert_own_frequencies(cls)
    body = make_solid(cls)
    assert not body.has_stable_content_hash
    assert body.compute_content_hash() != body.compute_content_hash()
    assert all(load_from_cache("modes", key) is None for key in stored)
    assert len(stored) <= 1  # the base class, unless its modes were stored before


def test_exec_with_the_name_of_a_file_gets_another_hash_identity() -> None:
    """Bytecode is compared as well: `exec` can claim any file name."""
    hashes = set()
    for factor in (2.0, 3.0):
        scope: dict[str, Any] = {"BodySolid": BodySolid, "__name__": __name__}
        source = (
            f"class StifferSolid(BodySolid):\n    def stiffness(self, u=None): return {factor} * super().stiffness(u)"
        )
        exec(compile(source, __file__, "exec"), scope)
        body = make_solid(scope["StifferSolid"])
        assert body.has_stable_content_hash
        hashes.add(body.compute_content_hash())
    assert len(hashes | {make_solid(StifferSolid).compute_content_hash()}) == 3


def test_edited_code_changes_the_hash_identity(tmp_path: Path) -> None:
    """Of the method or of a helper in its file; a copy of the same code keeps it."""
    path = tmp_path / "stiffer_bodies.py"
    code = "from cajole.body import BodySolid\nFACTOR = 4.0\ndef scale(K): return FACTOR * K\nclass Stiffer(BodySolid):"
    code += "\n    def stiffness(self, u=None): return scale(super().stiffness(u))\n"

    def compute_hash(text: str) -> str:
        path.write_text(text)
        body = make_solid(load_module(path).Stiffer)
        assert body.has_stable_content_hash
        found: str = body.compute_content_hash()
        return found

    first = compute_hash(code)
    assert compute_hash(code) == first
    edited = {
        compute_hash(code.replace("FACTOR *", "2 * FACTOR *")),
        compute_hash(code.replace("scale(s", "2 * scale(s")),
    }
    assert len(edited | {first}) == 3


def test_file_edited_after_import_keeps_the_hash_identity(tmp_path: Path) -> None:
    """What runs is the code that was imported, not what the file contains now."""
    path = tmp_path / "edited_bodies.py"
    code = "from cajole.body import BodySolid\nFACTOR = 4.0\nclass Stiffer(BodySolid):"
    path.write_text(code + "\n    def stiffness(self, u=None): return FACTOR * super().stiffness(u)\n")
    body = make_solid(load_module(path).Stiffer)
    before = body.compute_content_hash()
    path.write_text(path.read_text().replace("4.0", "9.0"))
    assert body.compute_content_hash() == before
    assert make_solid(load_module(path).Stiffer).compute_content_hash() != before


def test_attributes_and_closures_are_hashed_identity() -> None:
    def define(factor: float) -> type[BodySolid]:
        class Scaled(BodySolid):
            def stiffness(self, displacement: ArrayLike | None = None) -> Any:
                return factor * super().stiffness(displacement)

        return Scaled

    first, second, again = (make_solid(define(factor)) for factor in (2.0, 3.0, 2.0))
    assert first.compute_content_hash() != second.compute_content_hash()
    assert first.compute_content_hash() == again.compute_content_hash()

    body, other = make_solid(ScaledSolid), make_solid(ScaledSolid)
    assert body.compute_content_hash() == other.compute_content_hash()
    assert other.total_mass > 0  # cached properties do not count
    assert body.compute_content_hash() == other.compute_content_hash()
    seen = {body.compute_content_hash()}
    for scale in (
        2.0,
        np.ones(3),
        [1, (2.0, "x")],
        {"a": None},
        other.stiffness(),
        other.mesh,
        make_solid(),
        cj.MaterialStVK(),
    ):
        other.scale = scale
        assert other.has_stable_content_hash
        seen.add(other.compute_content_hash())
    assert len(seen) == 9
    other.scale = object()
    assert not other.has_stable_content_hash


def test_mixins_and_class_attributes_are_hashed_identity(monkeypatch: pytest.MonkeyPatch) -> None:
    class Mixin:
        exponent = 2

    class Mixed(Mixin, ScaledSolid):
        factor = 4.0

    before = make_solid(Mixed).compute_content_hash()
    assert before != make_solid(ScaledSolid).compute_content_hash()
    monkeypatch.setattr(Mixin, "exponent", 3)
    assert make_solid(Mixed).compute_content_hash() != before
    monkeypatch.setattr(Mixin, "exponent", print)
    assert not make_solid(Mixed).has_stable_content_hash


def list_package_bodies() -> list[Body]:
    sheet = grid_triangles(2, 2)
    net = BodySprings.cloth(2, 2)
    return [
        make_solid(),
        BodyShell(sheet),
        net,
        attach_capsules(net, Capsules([(0, 0, 9)], [(1, 0, 9)], 0.5)),
        beam_body(),
    ]


def test_package_bodies_do_not_depend_on_code_identity(monkeypatch: pytest.MonkeyPatch) -> None:
    """The tags and parameters alone: keys stay when the package is edited, and saved models stay readable."""

    def refuse(function: object) -> list[str]:
        raise AssertionError("a source file was read")

    before = [body.compute_content_hash() for body in list_package_bodies()]
    monkeypatch.setattr("cajole.body.content_hash._read_source", refuse)
    monkeypatch.setattr(BodySolid, "__repr__", lambda self: "edited")
    assert [body.compute_content_hash() for body in list_package_bodies()] == before
    assert all(body.has_stable_content_hash for body in list_package_bodies())


def test_every_class_of_the_package_has_its_own_tag_identity() -> None:
    def list_subclasses(cls: type) -> list[type]:
        return [sub for each in cls.__subclasses__() for sub in (each, *list_subclasses(each))]

    package = [cls for cls in list_subclasses(Body) if cls.__module__.startswith("cajole.")]
    concrete = [cls for cls in package if not getattr(cls, "__abstractmethods__", None)]
    missing = [cls.__qualname__ for cls in concrete if "get_content" not in vars(cls)]
    assert not missing
    tags = [body.get_content()[0] for body in list_package_bodies()[:4]]
    assert len(set(tags)) == len(tags) == len([cls for cls in concrete if not cls.__name__.startswith("_")])


def test_shell_subclass_is_identified_identity() -> None:
    """All attributes of a shell are of known types."""

    class Heavy(BodyShell):
        @property
        def mass_values(self) -> Array:  # type: ignore[override]
            return 2.0 * super().mass_values

    sheet = grid_triangles(2, 2)
    assert Heavy(sheet).has_stable_content_hash
    assert Heavy(sheet).compute_content_hash() != BodyShell(sheet).compute_content_hash()
    assert "test_content_hash" in sys.modules[Heavy.__module__].__name__
