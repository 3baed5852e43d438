/** Puts together what is drawn above the bodies, from the state and from what the hand is doing. */

import { formatForce, formatNumber } from "../core/format";
import { getPushStiffness, formatPush } from "../core/push-settings";
import type { App, SteerUpdate, ProjectState, Trail, Vec3 } from "../core/types";
import { getTargets } from "../core/targets";
import { arrowOf } from "./force";
import type { Sight } from "./gesture";
import type { Hand } from "./hand";
import { handleShown, hoverPlace, placeOfDrag } from "./hover";
import { type ArrowMark, type DiscMark, type Marks, noMarks, type TrailMark } from "./marks";
import { goalBalls, goalPaths } from "./reroute-marks";
import type { Selection } from "./selection";
import { length, scale, vertexOf } from "./vec";

const PLAIN = 13; // px across: a disc, …
const ACTIVE = 19; // … the one that the handle belongs to, …
const SMALL = 9; // … one of another frame, or a pin
const SPARE = 0.45; // a flow's arrows, which are all over it, leave room between them

const flat = new WeakMap<Trail, TrailMark>();

/** A trail as flat arrays, made once. */
function trailOf(trail: Trail): TrailMark {
  const known = flat.get(trail);
  if (known) return known;
  const made = { given: trail.given && Float32Array.from(trail.given), result: Float32Array.from(trail.result) };
  flat.set(trail, made);
  return made;
}

/** Marks of the first view. */
export function composeNow(sight: Sight, selection: Selection, hand: Hand, pulse: SteerUpdate | null): Marks {
  const marks = noMarks();
  const { app } = sight;
  const { state } = app;
  if (state === null || sight.figure()?.shown !== true) return marks;
  if (app.ui.trails && (state.mode !== "keyframe" || app.ui.views === 1)) marks.trails = state.trails.map(trailOf);
  marks.contacts = state.edit?.contacts ? state.edit.contact_points : [];
  marks.faces = crossings(sight, 0);
  marks.paths = goalPaths(app);
  marks.balls = goalBalls(sight, hand.gesture === null ? (hand.hover?.drag?.id ?? null) : null);
  marks.halos = halos(sight, state, hand.looked);
  marks.discs = [...dragDiscs(sight, state, hand), ...pinDiscs(state), ...chosenDiscs(selection)];
  marks.arrows = [...loadArrows(app, state), ...pulseArrows(app, state, pulse, hand)];
  const middle = selection.middle;
  if (middle !== null && handleShown(app))
    marks.handle = { at: middle, grip: hand.hover?.grip ?? null, held: false, lock: null };
  marks.hover = app.ui.pilot ? hoverPlace(sight, hand.hover) : null;
  hand.mark(marks);
  return marks;
}

/** Marks of the second view: the paths of a motion that keys have made, or that goals have bent. */
export function composeResult(sight: Sight): Marks {
  const marks = noMarks();
  const { app } = sight;
  marks.faces = crossings(sight, 1);
  marks.paths = goalPaths(app);
  if (app.state?.reroute) marks.balls = goalBalls(sight, null);
  if (app.state?.mode === "keyframe" && app.ui.trails) marks.trails = app.state.trails.map(trailOf);
  return marks;
}

/** Triangles in which a guide, or its shell, starts where it passes through itself. */
function crossings(sight: Sight, pane: number): Vec3[][] {
  const crossed = sight.app.state?.enrich?.crossed;
  const figure = sight.figureIn(pane);
  if (!crossed || !figure?.shown) return [];
  const faces = pane === 0 ? crossed.guide : crossed.shell;
  return faces.map((face) => [0, 1, 2].map((i) => vertexOf(figure.positions, figure.faces[3 * face + i])));
}

function dragDiscs(sight: Sight, state: ProjectState, hand: Hand): DiscMark[] {
  const frame = sight.frame();
  return (state.edit?.drags ?? []).flatMap((drag) => {
    const at = placeOfDrag(sight, drag);
    if (at === null) return [];
    const label =
      hand.gesture === null && hand.hover?.drag?.id === drag.id ? `${drag.name} · f ${formatNumber(drag.frame)}` : null;
    return [{ at, size: drag.frame === frame && !drag.pin ? PLAIN : SMALL + 1, warn: drag.warn !== null, label }];
  });
}

/** Where the point that is looked at is seen: the goals of its drags, the places of its pin, else on the body. */
function halos(sight: Sight, state: ProjectState, node: number | null): Vec3[] {
  if (node === null) return [];
  const pin = state.keyframe?.pins.find(({ nodes }) => nodes.includes(node));
  if (pin) return pin.places;
  const drags = getTargets(state).filter((drag) => drag.node === node);
  const places = drags.length > 0 ? drags.map((drag) => placeOfDrag(sight, drag)) : [sight.placeOf(node)];
  return places.filter((place) => place !== null);
}

function pinDiscs(state: ProjectState): DiscMark[] {
  return (state.keyframe?.pins ?? []).flatMap((pin) => pin.places.map((at) => ({ at, size: SMALL })));
}

function chosenDiscs(selection: Selection): DiscMark[] {
  const { chosen, middle } = selection;
  if (middle === null) return [];
  if (chosen.length === 1) return [{ at: middle, size: ACTIVE, active: true }];
  return [...chosen.map(({ place }) => ({ at: place, size: PLAIN })), { at: middle, size: ACTIVE, active: true }];
}

/** Pulls of a pose, as long as the hand drew them. */
function loadArrows(app: App, state: ProjectState): ArrowMark[] {
  const { project } = app;
  if (project === null) return [];
  return (state.keyframe?.loads ?? [])
    .filter((load) => load.kind === "pull")
    .map((load) => ({
      at: load.at,
      way: scale(load.force, 1 / (load.stiffness ?? getPushStiffness(project))),
      tone: "asked",
      pixels: 4.5,
      disc: true,
      alpha: load.muted ? 0.45 : 1,
      label: formatForce(load.strength),
      passing: !load.frozen,
    }));
}

/** What pushes a steered body: the controller, and a push that is on unless the hand itself shows it. */
function pulseArrows(app: App, state: ProjectState, pulse: SteerUpdate | null, hand: Hand): ArrowMark[] {
  const { project } = app;
  if (project === null || pulse === null || state.mode !== "steer") return [];
  const added: ArrowMark[] = pulse.arrows.map((arrow) => ({
    at: arrow.slice(0, 3) as Vec3,
    way: arrowOf(arrow.slice(3, 6) as Vec3, project.weight, (project.field ? SPARE : 1) * project.size),
    tone: "added",
    pixels: 2.6,
  }));
  if (pulse.push === null || pulse.at === null || hand.gesture !== null) return added;
  const label = `your push · ${formatPush(project, length(pulse.push))}`;
  return [
    ...added,
    { at: pulse.at, way: scale(pulse.push, 1 / getPushStiffness(project)), tone: "world", pixels: 4.5, disc: true, label },
  ];
}
