import type { Signal } from "./types";

/** A signal with no one listening yet. A listener that throws is reported and does not keep the others from hearing. */
export function signal<T>(): Signal<T> {
  const ears = new Set<(value: T) => void>();
  return {
    on(hear) {
      ears.add(hear);
      return () => void ears.delete(hear);
    },
    emit(value) {
      for (const hear of [...ears]) {
        try {
          hear(value);
        } catch (failure) {
          reportError(failure);
        }
      }
    },
  };
}
