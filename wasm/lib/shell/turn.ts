import type { Host } from './host.js';

const STAMPS: unique symbol = Symbol.for('turnback.turns') as never;
let made = 0;

/**
 * Beside the objects, not on them: a frozen context works, and a copy of a context is another turn. One table for all copies
 * of the packages in a realm, so that a turn has one id whomever is asked.
 */
function stamps(): WeakMap<object, string> {
  const realm = globalThis as { [STAMPS]?: WeakMap<object, string> };
  if (realm[STAMPS] === undefined) Object.defineProperty(realm, STAMPS, { value: new WeakMap() });
  return realm[STAMPS] ?? new WeakMap();
}

/**
 * The turn of a run's context object: its own `turnId`, if that is a text that is not empty; otherwise an id that is made
 * once and stays the same for this object (G11).
 *
 * A copy of the object gets another id: better a checkpoint too many than a new turn that an old one seems to cover.
 */
export function turnIdOf(host: Host, context: object): string {
  if ((typeof context !== 'object' && typeof context !== 'function') || context === null) {
    throw host.error('INVALID_ARGUMENT', "context is no object: pass the run's context object", {
      details: { argument: 'context' },
    });
  }
  const explicit = explicitId(context);
  if (explicit !== undefined) return explicit;
  let id = stamps().get(context);
  if (id === undefined) {
    id = fresh();
    stamps().set(context, id);
  }
  return id;
}

function explicitId(context: object): string | undefined {
  try {
    const { turnId } = context as { turnId?: unknown };
    return typeof turnId === 'string' && turnId !== '' ? turnId : undefined;
  } catch {
    // A getter that throws names no turn.
    return undefined;
  }
}

/** Not `randomUUID`: pages without TLS have none. */
function fresh(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(12));
  made += 1;
  return `turn-${made.toString(36)}-${Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('')}`;
}
