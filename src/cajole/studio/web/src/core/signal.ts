import type { Signal } from "./types";

/** Create a signal. A listener that throws is reported and does not stop the others. */
export function createSignal<T>(): Signal<T> {
  const listeners = new Set<(value: T) => void>();
  return {
    on(listener) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    emit(value) {
      for (const listener of [...listeners]) {
        try {
          listener(value);
        } catch (failure) {
          reportError(failure);
        }
      }
    },
  };
}
