import type { Batches, Run } from '../model/columns.js';
import { drawnFrom } from '../model/lanes.js';

/** A batch under a policy. */
export interface Place {
  readonly policy: number;
  readonly batch: number;
}

/**
 * Where a key leads from a batch. Left and right, Home and End move along its lane, Page Up and Page Down to the turn before and after;
 * up and down to the batch of the next lane that runs at the time, and past the last lane to the next policy.
 */
export function neighbour(
  key: string,
  batches: Batches,
  runs: readonly Run[],
  policy: number,
  batch: number,
): Place | undefined {
  const lane = runs[policy]?.lanes[batches.sandbox[batch] ?? 0];
  if (lane === undefined) return undefined;
  const place = lane.order.indexOf(batch);
  const at = (wanted: number): Place => ({
    policy,
    batch: lane.order[Math.max(0, Math.min(wanted, lane.order.length - 1))] ?? batch,
  });
  switch (key) {
    case 'ArrowLeft':
      return at(place - 1);
    case 'ArrowRight':
      return at(place + 1);
    case 'Home':
      return at(0);
    case 'End':
      return at(lane.order.length - 1);
    case 'PageUp':
    case 'PageDown':
      return at(otherTurn(batches, lane.order, place, key === 'PageUp' ? -1 : 1));
    case 'ArrowUp':
      return sideways(batches, runs, policy, batch, -1);
    case 'ArrowDown':
      return sideways(batches, runs, policy, batch, 1);
    default:
      return undefined;
  }
}

function otherTurn(batches: Batches, order: Int32Array, place: number, step: number): number {
  const turn = batches.turn[order[place] ?? 0];
  let next = place;
  while (next + step >= 0 && next + step < order.length && batches.turn[order[next] ?? 0] === turn) next += step;
  return next;
}

function sideways(
  batches: Batches,
  runs: readonly Run[],
  policy: number,
  batch: number,
  step: number,
): Place | undefined {
  const run = runs[policy];
  if (run === undefined) return undefined;
  const lane = (batches.sandbox[batch] ?? 0) + step;
  const beside = run.lanes[lane];
  if (beside !== undefined) return { policy, batch: nearest(run, beside.order, drawnFrom(run, batch)) ?? batch };
  const other = runs[policy + step];
  if (other === undefined) return undefined;
  if (batches.sandboxes.length === 1) return { policy: policy + step, batch };
  const edge = other.lanes.at(step > 0 ? 0 : -1);
  const there = edge === undefined ? undefined : nearest(other, edge.order, drawnFrom(run, batch));
  return { policy: policy + step, batch: there ?? batch };
}

/** Of batches in the order of time, the last that begins no later. */
function nearest(run: Run, order: Int32Array, time: number): number | undefined {
  let found = order[0];
  for (const batch of order) {
    if (drawnFrom(run, batch) > time) break;
    found = batch;
  }
  return found;
}
