/** Server state of Steer that only flow scenes have. */

export interface FieldInfo { size: [number, number]; cells: [number, number] } // [m]: x and z from the origin; columns and rows
export interface FlowState {
  kicks: { name: string; text: string }[]; // the scene's own
  smoke: boolean;
  seed: number; // which of the winds
}
