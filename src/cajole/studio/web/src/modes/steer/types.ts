/** Server state of Steer that only flow scenes have. */

export interface FlowState {
  kicks: { name: string; text: string }[]; // the scene's own
  smoke: boolean;
  seed: number; // which of the winds
}
