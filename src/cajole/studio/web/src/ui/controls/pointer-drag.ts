/** Drag of a control with a captured pointer. */

interface DragHandlers {
  move(event: PointerEvent): void;
  end(): void; // after the release, also of a cancelled drag
  cancel?(): void; // Escape was pressed; the drag ends
}

/** Follow the pointer of a press until its release. */
export function trackPointer(element: HTMLElement, { pointerId }: PointerEvent, { move, end, cancel }: DragHandlers): void {
  const listening = new AbortController();
  const { signal } = listening;
  const handleKey = (event: KeyboardEvent): void => {
    if (event.key !== "Escape" || !cancel) return;
    event.stopPropagation();
    cancel();
    element.releasePointerCapture(pointerId);
  };
  const finish = (): void => {
    listening.abort();
    end();
  };
  element.setPointerCapture(pointerId);
  element.addEventListener("pointermove", move, { signal });
  element.addEventListener("keydown", handleKey, { signal });
  element.addEventListener("lostpointercapture", finish, { signal });
}
