import type { DriverModel, Policy, Scenario } from 'turnback-policy/simulate';

/** What the reader edits: everything but the batches. */
export interface Setup {
  readonly seed: number;
  readonly driver: DriverModel;
  readonly policies: readonly Policy[];
}

/** What a link holds: the batches, or the name of a built-in scenario, and the set-up. */
export interface Linked {
  readonly builtin?: string;
  readonly scenario?: Scenario;
  readonly setup: Setup;
}

/** A link that is longer is refused: browsers, chats and mail cut it off. */
export const LONGEST_LINK = 60_000;
/** What a link may unpack to: somebody else made it. */
const MOST_UNPACKED = 64 * 1024 * 1024;
const KEY = 's=';

/** The fragment of a link: JSON, deflated, as base64url. */
export async function encodeLink(linked: Linked): Promise<string> {
  const packed = await through(new TextEncoder().encode(JSON.stringify(linked)), new CompressionStream('deflate-raw'));
  let text = '';
  for (let at = 0; at < packed.length; at += 0x8000) text += String.fromCharCode(...packed.subarray(at, at + 0x8000));
  return `${KEY}${btoa(text).replaceAll('+', '-').replaceAll('/', '_').replace(/=+$/, '')}`;
}

/**
 * What a link holds; `undefined`: the fragment is none of ours. Its scenario is still to be checked by `parseScenario`.
 *
 * @throws an error with a sentence for the reader if the fragment is damaged
 */
export async function decodeLink(
  fragment: string,
): Promise<{ builtin?: string; scenario?: unknown; setup?: unknown } | undefined> {
  const text = fragment.replace(/^#/, '');
  if (!text.startsWith(KEY)) return undefined;
  let value: unknown;
  try {
    const bytes = atob(text.slice(KEY.length).replaceAll('-', '+').replaceAll('_', '/'));
    const packed = Uint8Array.from(bytes, (character) => character.charCodeAt(0));
    value = JSON.parse(new TextDecoder().decode(await through(packed, new DecompressionStream('deflate-raw'))));
  } catch (cause) {
    throw new Error('The link is damaged or was cut off: ask for it again, or open one of the scenarios.', { cause });
  }
  if (typeof value !== 'object' || value === null) throw new Error('The link holds no scenario: ask for it again.');
  return value;
}

/** Sends bytes through a (de)compressor. */
async function through(
  bytes: Uint8Array<ArrayBuffer>,
  stream: CompressionStream | DecompressionStream,
): Promise<Uint8Array> {
  const writer = stream.writable.getWriter();
  // Its failure is that of the reader, below.
  const written = writer.write(bytes).then(() => writer.close());
  written.catch(() => undefined);
  const reader = stream.readable.getReader() as ReadableStreamDefaultReader<Uint8Array>;
  const parts: Uint8Array[] = [];
  let length = 0;
  for (let part = await reader.read(); !part.done; part = await reader.read()) {
    length += part.value.length;
    if (length > MOST_UNPACKED) {
      await reader.cancel();
      throw new Error(`it unpacks to more than ${MOST_UNPACKED} bytes`);
    }
    parts.push(part.value);
  }
  const all = new Uint8Array(length);
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return all;
}
