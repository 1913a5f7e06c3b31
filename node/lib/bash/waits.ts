import { onAbort } from '../abort.js';

/** What a promise gives, or `aborted` as soon as the signal fires. Leaves no listener behind. */
export async function untilAborted<T>(signal: AbortSignal | undefined, promise: Promise<T>): Promise<T | 'aborted'> {
  if (signal === undefined) return await promise;
  let leave = () => {};
  const aborted = new Promise<'aborted'>((resolve) => {
    leave = onAbort(signal, () => resolve('aborted'));
    if (signal.aborted) resolve('aborted');
  });
  try {
    return await Promise.race([aborted, promise]);
  } finally {
    leave();
  }
}

/** What a promise gives, or `late` when the time is over first. */
export async function within<T>(promise: Promise<T>, limitMs: number): Promise<T | 'late'> {
  if (limitMs === Number.POSITIVE_INFINITY) return await promise;
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<'late'>((resolve) => {
    timer = setTimeout(resolve, limitMs, 'late' as const);
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}
