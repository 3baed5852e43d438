/** Server state of Enrich: guide and shell, regions, parameters, and results. */

export interface RegionInfo { id: number; guide: number; shell: number } // vertices of each side
export type RegionKind = "hats" | "clusters" | "scene" | "paint";
export interface EnrichDials {
  material: string;
  young: number; poisson: number; thickness: number; density: number; bending: number; // Pa, -, m, kg/m³, times
  mass: number; membrane: number; ripple: number; // damping [1/s], [s], [s]
  curvature: number; hardening: number; // folds that stay [1/m], [m]; 0: none
  shape: "flat" | "accordion" | "ridges" | "crinkle" | "own"; amplitude: number; wavelength: number; along: "x" | "y" | "z";
  gravity: number; // times the Earth's
  wind: number; heading: number; rise: number; gusts: number; lumps: number; pressure: number; // m/s, °, °, m/s, m, Pa
  own: boolean; hold: boolean;
  collisions: "none" | "fast" | "exact"; friction: number;
  substeps: number; frames: number; seed: number;
}
export interface EnrichState {
  guide: { vertices: number; frames: number };
  shell: {
    vertices: number; triangles: number; levels: number | null; most_levels: number;
    own: boolean; // the scene has a mesh that is no subdivision
    lies: boolean; // the shell lies on the guide, so that paint can go along
    still: number; // vertices that never move
  };
  regions: {
    kind: RegionKind; kinds: RegionKind[]; count: number; asked: number; most: number; seed: number;
    list: RegionInfo[]; // the first of them
    covered: number; // share of the shell's vertices
    problem: string | null; // why they cannot be followed yet
  };
  dials: EnrichDials;
  materials: { name: string; text: string }[];
  extras: boolean; // the material brings air or shapes of its own
  collidable: boolean; // the scene has things to bump into
  running: string | null; // job
  result: {
    frames: number; stale: boolean; cut: boolean; text: string; off: number; report: string;
    seconds: number | null; collisions: string | null; intersections: number | null;
  } | null;
  sight: "led" | "free"; // what the second view shows
  free: number | null; // how far the shell without its guide goes astray, in sizes, where it is shown
  crossed: { shell: number[]; guide: number[] }; // triangles in which a start passes through itself
}
