import { invalidArgument, isTurnbackError, TurnbackError } from '../errors.js';
import type { CheckpointManager } from '../manager.js';
import { CHECKPOINT_ID, noCheckpointId } from '../options.js';
import type { ListedCheckpoint } from '../types.js';
import { printable } from './text.js';

/** An id's first characters. Six are enough to tell a person's checkpoints apart; fewer match too much by accident. */
const PREFIX = /^[0-7][0-9A-HJKMNP-TV-Z]{5,24}$/;

/** What was given, as far as it is worth a line. */
export function shown(given: string): string {
  const text = printable(given.length > 40 ? `${given.slice(0, 40)}…` : given);
  return text === '' ? "''" : text;
}

/** The id that was meant: a whole one, or the first six or more characters of exactly one in the store, in either case. */
export async function resolveId(manager: CheckpointManager, given: string): Promise<string> {
  const text = given.length <= 26 ? given.toUpperCase() : given;
  if (CHECKPOINT_ID.test(text)) return text;
  if (!PREFIX.test(text)) throw noCheckpointId('ID', shown(given));
  const matching = (await manager.listCheckpoints()).filter(({ checkpointId: id }) => id.startsWith(text));
  const [only] = matching;
  if (only === undefined) {
    throw new TurnbackError('NOT_FOUND', `no checkpoint id begins with ${text}; \`turnback list\` shows all`);
  }
  if (matching.length > 1) {
    throw invalidArgument('ID', `${matching.length} checkpoint ids begin with ${text}: give more of the id`);
  }
  return only.checkpointId;
}

/**
 * The checkpoints that were meant, damaged ones among them, each once, in the order in which they were given. All of them are looked
 * for before anything is done with one.
 */
export async function resolveKnown(manager: CheckpointManager, given: string[]): Promise<string[]> {
  const ids = new Set<string>();
  for (const one of given) ids.add(await resolveId(manager, one));
  const there = await known(manager);
  for (const id of ids) if (!there.has(id)) throw unknown(id);
  return [...ids];
}

/**
 * The error of a command on several checkpoints that was done with some of them: which those are, also for programs.
 *
 * @param did for example `pinned`
 * @param at the one that it failed at, where that is known
 */
export function afterSome(error: unknown, done: readonly string[], did: string, at?: string): unknown {
  if (!isTurnbackError(error)) return error;
  const where = at === undefined ? '' : `${at}: `;
  const before = done.length === 0 ? '' : `; ${did} before that: ${done.join(' ')}`;
  return new TurnbackError(error.code, `${where}${error.message}${before}`, {
    retryable: error.retryable,
    details: { ...error.details, ...(at === undefined ? {} : { checkpointId: at }), done },
    cause: error.cause,
  });
}

/** The checkpoints that are there, damaged ones among them. */
export async function known(manager: CheckpointManager): Promise<Set<string>> {
  const [listed, damaged] = [await manager.listCheckpoints(), await manager.listDamaged()];
  return new Set([...listed, ...damaged].map(({ checkpointId }) => checkpointId));
}

function unknown(id: string): TurnbackError {
  return new TurnbackError('NOT_FOUND', `there is no checkpoint ${id} in this store; \`turnback list\` shows all`);
}

/** The checkpoint that was meant, with what lies beside its record. */
export async function resolveListed(manager: CheckpointManager, given: string): Promise<ListedCheckpoint> {
  const id = await resolveId(manager, given);
  const found = (await manager.listCheckpoints()).find(({ checkpointId: listed }) => listed === id);
  if (found !== undefined) return found;
  throw unknown(id);
}
