/** Small scenarios whose outcome can be worked out by hand. */

const batch = (turn: string, startMs: number, durationMs: number, more: object = {}) => ({
  sandbox: 'box',
  turn,
  startMs,
  durationMs,
  kind: 'destructive',
  ...more,
});

/**
 * Two turns of two batches of 1 s each; a checkpoint takes 100 ms. Once per turn: two checkpoints, 200 ms of waiting, and a rollback of each
 * turn's second batch loses the first, 1 s. Before every batch: four checkpoints, 400 ms, nothing to lose.
 */
export const SMALL = {
  version: 1,
  name: 'A small one',
  driver: { latency: { kind: 'fixed', ms: 100 } },
  policies: [{ kind: 'per_turn' }, { kind: 'every_batch' }],
  batches: [
    batch('a', 0, 1_000, { tool: 'first' }),
    batch('a', 2_000, 1_000, { tool: '=HYPERLINK("x")' }),
    batch('b', 10_000, 1_000, { tool: 'third, with a comma' }),
    batch('b', 12_000, 1_000, { tool: 'fourth' }),
  ],
};

/** So many batches, five a turn, in two sandboxes. */
export function many(count: number): object {
  const batches = Array.from({ length: count }, (_, place) => ({
    ...batch(`turn-${Math.floor(place / 5)}`, place * 1_000, 700),
    sandbox: place % 2 === 0 ? 'even' : 'odd',
  }));
  return { version: 1, name: 'Many', policies: [{ kind: 'per_turn' }], batches };
}
