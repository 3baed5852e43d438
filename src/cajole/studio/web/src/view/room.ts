/** The room that a view leaves for the body: nothing at its rim lies above it. No DOM here. */

/** A part of a view [CSS px]. */
export interface Room {
  left: number;
  top: number;
  width: number;
  height: number;
}

// px that lie under what is at the rim: chips and options above, legend or pose buttons below, tools at the left
const RIM = { top: 52, bottom: 52, side: 12, tools: 60 };
const LEAST_FREE = 0.5; // of each side stays free, however small the view is

/** The part of a view that nothing at its rim lies above; tools: whether the tool column is in it. */
export function freeRoom(width: number, height: number, tools: boolean): Room {
  const [left, right] = [tools ? RIM.tools : RIM.side, RIM.side];
  const across = Math.min(1, ((1 - LEAST_FREE) * width) / (left + right));
  const down = Math.min(1, ((1 - LEAST_FREE) * height) / (RIM.top + RIM.bottom));
  return {
    left: across * left,
    top: down * RIM.top,
    width: width - across * (left + right),
    height: height - down * (RIM.top + RIM.bottom),
  };
}

/** Where a view's target is seen: in the middle of its free room. */
export const centreOf = ({ free }: { free: Room }): [number, number] => [
  free.left + free.width / 2,
  free.top + free.height / 2,
];
