import { node } from '../builtin.js';

/** How sandboxes and turns are called in a recording. */
export interface Names {
  sandbox(id: string): string;
  turn(id: string): string;
}

/** As the guard's caller calls them. */
export function plainNames(): Names {
  return { sandbox: (id) => id, turn: (id) => id };
}

/** The same name for the same id, from which the id cannot be found, not even by trying: nobody knows the key. */
export function secretNames(): Names {
  const key = node.crypto.randomBytes(32);
  const named = (kind: string, id: string) =>
    `${kind}-${node.crypto.createHmac('sha256', key).update(`${kind}\0${id}`).digest('hex').slice(0, 16)}`;
  return { sandbox: (id) => named('sandbox', id), turn: (id) => named('turn', id) };
}
