"""What `steer`, `reference`, runs and live use answer to what they cannot use."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from steer_cases import at_rest, beam, model, moving, sway, swaying

import cajole as cj
from bodies import beam_body
from cajole.errors import InputError, NotConverged
from cajole.mesh import box_tets

Array = NDArray[np.float64]

SMALL = np.diag([1.0, 1.0, 1.0, 0.0])
SLANTED = np.triu(np.ones((4, 4)))
HELD = np.flatnonzero(beam().vertices[:, 0] == 0)

DIALS: list[tuple[dict[str, Any], str]] = [
    ({"tracking": -1.0}, r"tracking is -1\.0, but must be at least zero"),
    ({"final": -0.5}, r"final is -0\.5, but must be at least zero"),
    ({"effort": 0.0}, r"effort is 0\.0, but must be positive"),
    ({"effort": -1e-2}, r"effort is -0\.01, but must be positive"),
    ({"effort": SMALL}, r"effort is singular \(least eigenvalue 0\): every force must cost something"),
    ({"effort": np.zeros((4, 4))}, r"effort is singular"),
    ({"effort": SMALL - 0.5 * np.eye(4)}, r"effort has a negative eigenvalue \(-0\.5\)"),
    ({"effort": np.eye(3)}, r"effort has shape \(3, 3\), but \(4, 4\) is needed"),
    ({"effort": lambda t: 0.03 - t}, r"effort\(0\.04\) is -0\.01\d*, but must be positive"),
    ({"effort": None}, r"effort must be a number, not None"),
    ({"effort": np.full((4, 4), np.nan)}, r"effort\[0, 0\] is nan"),
    ({"tracking": SMALL - 0.5 * np.eye(4)}, r"tracking has a negative eigenvalue \(-0\.5\)"),
    ({"tracking": SLANTED}, r"tracking must be a symmetric matrix"),
    ({"tracking": np.eye(5)}, r"tracking has shape \(5, 5\); a number, \(4, 4\) or \(8, 8\) is needed"),
    ({"tracking": [[1.0, 2.0], [3.0]]}, r"tracking must be a number or a matrix with rows of one length"),
    ({"tracking": np.nan}, r"tracking is nan, but must be finite"),
    ({"tracking": "much"}, r"tracking must be a number, not 'much'"),
    ({"tracking": lambda t: np.inf}, r"tracking\(0\.02\) is inf"),
    ({"tracking": 0.0}, r"tracking and final are both zero: there is nothing to come back to; raise one of them"),
    ({"frames": {0: 2.0}}, r"a frame to emphasise is 0, but must be between 1 and 12"),
    ({"frames": {13: 2.0}}, r"a frame to emphasise is 13, but must be between 1 and 12"),
    ({"frames": {2.5: 2.0}}, r"a frame to emphasise must be a whole number, not 2\.5"),
    ({"frames": {3: -2.0}}, r"the emphasis of frame 3 is -2\.0"),
    ({"frames": [3, 4]}, r"frames \(\{frame: factor\}\) must be a Mapping, not list"),
    ({"vertices": [99]}, r"vertices\[0\] is 99, outside 0\.\.19"),
    ({"vertices": [-1]}, r"vertices\[0\] is -1, outside 0\.\.19"),
    ({"vertices": ["tip"]}, r"vertices must be whole numbers"),
    ({"vertices": {9: -1.0}}, r"the weight of a vertex is -1\.0"),
    ({"vertices": {9: 0.0}}, r"none of them has a positive weight"),
    ({"vertices": []}, r"none of them has a positive weight"),
    ({"vertices": HELD}, r"nothing moves those with a weight; choose vertices that are not fixed"),
    ({"formulation": "magic"}, r"formulation is 'magic', but must be one of 'discrete', 'continuous'"),
]


@pytest.mark.parametrize(("dials", "answer"), DIALS, ids=[answer[:40] for _, answer in DIALS])
def test_dials_bad_input(dials: dict[str, Any], answer: str) -> None:
    with pytest.raises(InputError, match=answer):
        cj.steer(moving(model()), **dials)


@pytest.mark.parametrize("motion", [None, "shot", 3])
def test_motion_bad_input(motion: Any) -> None:
    with pytest.raises(
        InputError, match=r"a Shot, a Reference made by cajole\.build_reference, or an Animation with its body"
    ):
        cj.steer(motion)
    with pytest.raises(InputError, match=r"give its body, steer\(motion, body=body\)"):
        cj.steer(swaying())
    with pytest.raises(InputError, match="body goes with an animation"):
        cj.steer(moving(model()), body=beam())


@pytest.mark.parametrize("formulation", ["discrete", "continuous"])
@pytest.mark.parametrize("dials", [{"tracking": 1e300}, {"effort": 1e-300}, {"effort": 1e300}, {"final": 1e200}])
def test_extreme_dials_bad_input(dials: dict[str, float], formulation: str) -> None:
    """Finite gains, or an answer that says which way to turn; never NaN."""
    try:
        made = cj.steer(moving(model()), formulation=formulation, **dials)
    except NotConverged:
        with pytest.raises(NotConverged, match="lower tracking and final, or raise effort"):
            cj.steer(moving(model()), formulation=formulation, **dials)
    else:
        assert np.isfinite(made.gains).all()
        assert np.isfinite(made.feedback_gains.cost_to_go).all()


def rows(frames: int) -> Array:
    return np.zeros((frames, beam().vertex_count, 3))


FORCES: list[tuple[Any, str]] = [
    (rows(12), r"force has shape \(12, 20, 3\), but \(13, 20, 3\) is needed"),
    (np.zeros((7, 3)), r"force has shape \(7, 3\)"),
    (lambda t: np.full((20, 3), np.nan if t > 0.05 else 0.0), r"force\(0\.06\)\[0, 0\] is nan"),
    (lambda t: np.zeros((19, 3)), r"force\(0\) has shape \(19, 3\)"),
    ("gale", r"a force must be a function of time, numbers .* or only Push and Wind objects"),
    ([cj.Push(9, (0.0, 0.0, 1.0)), rows(13)], r"or only Push and Wind objects"),
    (cj.Push(9, (0.0, np.nan, 0.0)), r"the force of a push \(N\)\[1\] is nan"),
    (cj.Push(9, (0.0, 1.0)), r"the force of a push \(N\) has shape \(2,\)"),  # type: ignore[arg-type]
    (cj.Push(20, (0.0, 0.0, 1.0)), r"the pushed vertex\[0\] is 20, outside 0\.\.19"),
    (cj.Push(-1, (0.0, 0.0, 1.0)), r"the pushed vertex\[0\] is -1, outside"),
    (cj.Push(9, (0.0, 0.0, 1.0), duration=-0.1), r"the duration of a push \(s\) is -0\.1, but must be positive"),
    (cj.Push(9, (0.0, 0.0, 1.0), duration=np.inf), r"the duration of a push \(s\) is inf"),
    (cj.Push(9, (0.0, 0.0, 1.0), time=-1.0), r"the time of a push \(s\) is -1\.0"),
    (cj.Wind(-1.0), r"the wind's strength \(m/s²\) is -1\.0"),
    (cj.Wind(np.nan), r"the wind's strength \(m/s²\) is nan"),
    (cj.Wind(1.0, scale=0.0), r"the wind's scale \(body sizes\) is 0\.0"),
    (cj.Wind(1.0, pace=-1.0), r"the wind's pace \(1/s\) is -1\.0"),
    (cj.Wind(1.0, seed=-1), r"the wind's seed is -1, but must be at least 0"),
    (cj.Wind(1.0, patches=0), r"the wind's patches is 0"),
    (cj.Wind(1.0, direction=(0.0, 0.0, 0.0)), r"the wind's direction is zero"),
]


@pytest.mark.parametrize(("force", "answer"), FORCES, ids=[answer[:40] for _, answer in FORCES])
def test_force_of_a_run_bad_input(force: Any, answer: str) -> None:
    with pytest.raises(InputError, match=answer):
        cj.steer(moving(model())).run(force=force)


def test_loops_bad_input() -> None:
    controller = cj.steer(moving(model()))
    for loops, answer in ((0, "loops is 0, but must be at least 1"), (1.5, "loops must be a whole number")):
        with pytest.raises(InputError, match=answer):
            controller.run(loops=loops)  # type: ignore[arg-type]
    with pytest.raises(InputError, match=r"force has shape \(13, 20, 3\), but \(25, 20, 3\) is needed"):
        controller.run(force=rows(13), loops=2)


@pytest.mark.parametrize("wind", [cj.Wind(1.0, pace=1e300), cj.Wind(1.0, scale=1e-300), cj.Wind(1e300)])
def test_extreme_wind_bad_input(wind: cj.Wind) -> None:
    controller = cj.steer(moving(model()))
    if wind.strength > 1e100:
        with pytest.raises(NotConverged, match="push less"):
            controller.run(force=wind)
    else:
        run = controller.run(force=wind)
        assert np.isfinite(run.states).all()
        assert run.error.max() > 0.0


LIVE: list[tuple[Callable[[cj.RealtimeController], object], str]] = [
    (lambda live: live.push(9, (0.0, np.nan, 0.0)), r"the force of a push \(N\)\[1\] is nan"),
    (lambda live: live.push(20, (0.0, 0.0, 1.0)), r"the pushed vertex\[0\] is 20, outside 0\.\.19"),
    (lambda live: live.push(1.5, (0.0, 0.0, 1.0)), r"the pushed vertex must be whole numbers"),  # type: ignore[arg-type]
    (lambda live: live.push(9, (0.0, 0.0, 1.0), -1.0), r"the duration of a push \(s\) is -1\.0"),
    (lambda live: live.step(0), r"count \(of steps\) is 0, but must be at least 1"),
    (lambda live: live.step(2.5), r"count \(of steps\) must be a whole number"),  # type: ignore[arg-type]
    (lambda live: live.seek(12), r"frame is 12, but must be between 0 and 11"),
    (lambda live: live.seek(-1), r"frame is -1, but must be between 0 and 11"),
    (lambda live: live.set_disturbances(3.0), r"set_disturbances takes Wind objects"),  # type: ignore[arg-type]
    (lambda live: live.compute_positions("skin"), r"skin must be a Skin, not str"),  # type: ignore[arg-type]
]


@pytest.mark.parametrize(("use", "answer"), LIVE, ids=[answer[:40] for _, answer in LIVE])
def test_live_use_bad_input(use: Callable[[cj.RealtimeController], object], answer: str) -> None:
    """Each is refused, and the body goes on as if nothing had been said."""
    controller = cj.steer(moving(model()))
    live, calm = controller.start(), controller.start()
    live.step(3)
    with pytest.raises(InputError, match=answer):
        use(live)
    live.step(3)
    calm.step(6)
    np.testing.assert_array_equal(live.state, calm.state)


def other_body() -> cj.Animation:
    mesh = box_tets(5, 1, 1, size=(1.0, 0.2, 0.2))
    return cj.Animation(mesh, np.tile(mesh.vertices, (5, 1, 1)))


REFERENCES: list[tuple[Callable[[], object], str]] = [
    (lambda: cj.build_reference(model(), other_body()), r"the motion has 24 vertices, but the body has 20"),
    (lambda: cj.build_reference(model(), at_rest(model(), 2)), r"a motion of at least 3 frames"),
    (lambda: cj.build_reference(model(), swaying(), feed_forward="given"), r"give `force` with feed_forward='given'"),
    (lambda: cj.build_reference(model(), swaying(), resimulate=True), r"give `force` with .* or resimulate=True"),
    (lambda: cj.build_reference(model(), swaying(), force=sway), r"`force` is only used with feed_forward='given'"),
    (
        lambda: cj.build_reference(model(), swaying(), feed_forward="best"),
        r"feed_forward is 'best', but must be one of",
    ),
    (lambda: cj.build_reference(beam().mesh, swaying()), r"\(a ReducedModel, or a body\) must be .* not MeshTet"),  # type: ignore[arg-type]
    (lambda: cj.build_reference(model(), swaying(), modes=3), r"modes and components make a basis for a body"),
    (lambda: cj.build_reference(model(), swaying(), substeps=0), r"substeps is 0"),
    (
        lambda: cj.build_reference(model(), swaying(), feed_forward="given", force=sway, substeps=2),
        r"a given force acts frame by frame; leave substeps out",
    ),
    (
        lambda: cj.build_reference(beam(), swaying().moved(swaying().positions + 0.1)),
        r"the motion moves vertex \d+ by 0\.\d+ m, but it is held; hold what the motion holds",
    ),
    (lambda: cj.build_reference(model(), rows(13)), r"motion must be a Animation, not ndarray"),  # type: ignore[arg-type]
    (
        lambda: cj.build_reference(model(), swaying(), feed_forward="given", force=rows(12)),
        r"force has shape \(12, 20, 3\), but \(13, 20, 3\) is needed",
    ),
    (
        lambda: cj.build_reference(model(), swaying(), feed_forward="given", force=rows(13) + np.inf),
        r"force\[0, 0, 0\] is inf",
    ),
    (
        lambda: cj.build_reference(model(), swaying(), resimulate=True, force="strong"),  # type: ignore[arg-type]
        r"a force must be a function of time",
    ),
]


@pytest.mark.parametrize(("make", "answer"), REFERENCES, ids=[answer[:40] for _, answer in REFERENCES])
def test_reference_bad_input(make: Callable[[], object], answer: str) -> None:
    with pytest.raises(InputError, match=answer):
        make()


def test_body_without_a_motion_of_its_own_bad_input() -> None:
    """A resimulation that cannot be made says so instead of handing on numbers that are none."""
    body = beam_body((4, 1, 1))
    of = cj.reduce(body, cj.modes(body, 4))
    with pytest.raises(NotConverged, match="did not converge"):
        cj.build_reference(of, at_rest(of, 5), force=np.full((5, body.vertex_count, 3), 1e200), resimulate=True)
