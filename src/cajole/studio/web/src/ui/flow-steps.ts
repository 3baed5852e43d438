/** First steps where a flow is steered. */

import type { Step } from "./coach";

export const FLOWING: readonly Step[] = [
  {
    title: "Push the flow",
    text: "Press anywhere in the box and drag. The red particles are led back to their yellow places.",
    done: (now, then) => now.steer!.pushes.length > then.steer!.pushes.length,
  },
  {
    title: "Switch control off and push again",
    text: "Press C, then push: they go where the flow takes them.",
    done: (now, then) => !now.steer!.control && now.steer!.pushes.length > then.steer!.pushes.length,
  },
  {
    title: "Compare the two curves",
    text: "Clay is the farthest particle in cells, violet the force it takes. C switches control on again.",
    done: (now) => now.steer!.control,
    last: true,
  },
];
