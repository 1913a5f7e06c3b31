/**
 * A guard's batches in a file, as a scenario in JSON Lines: what an agent did, to be replayed under another policy
 * (`turnback-policy/simulate`, `docs/traces.md`). A guard without a recording knows nothing of all this.
 */
import type { Batch, Guard } from 'turnback-policy/shell';
import { flag, logger, oneOf, options, text } from '../check.js';
import { invalidArgument } from '../errors.js';
import type { Logger } from '../log.js';
import { safely } from '../log.js';
import { absolute } from '../paths.js';
import { recordedGuard } from './guard.js';
import { ATTACH, type Attached } from './marks.js';
import { type Names, plainNames, secretNames } from './names.js';
import { Timeline } from './timeline.js';
import { Writer } from './writer.js';

/** What {@link openRecording} takes. */
export interface RecordingOptions {
  /** The file: a new one, made with the mode 0600. One that exists is never written over or added to. */
  file: string;
  /**
   * Whether sandboxes and turns get other names, by a key that is forgotten with the recording: then the file can be given away. `false`
   * by default. Commands, their output and paths within sandboxes are in no recording.
   */
  anonymise?: boolean | undefined;
  /**
   * When a batch is over that you have asked the guard for yourself. `'until_next'` (the default): when you say so, at the latest when
   * the next batch of its sandbox asks; one that ends its turn and of which you say nothing lasts 0 ms. `'told'`: only when you say so, which
   * is right for calls that go on side by side. `runBash` and the adapters say so themselves.
   */
  ends?: 'until_next' | 'told' | undefined;
  /** Hears, once, why nothing more is recorded. Without one it is a process warning. */
  logger?: Logger | undefined;
  /** For tests: another clock, in milliseconds since anything. */
  clock?: { now(): number } | undefined;
}

/** What there is of a recording when it is closed. */
export interface RecordingReport {
  readonly file: string;
  /** How many batches are in the file. */
  readonly batches: number;
  /** Whether that is all of them: nothing went wrong with the file. */
  readonly complete: boolean;
}

/** A file that guards record to: `createGuard({ driver, recording })`, as many guards as you like. */
export interface Recording extends AsyncDisposable {
  /** The absolute path. */
  readonly file: string;
  /**
   * A batch is over. Pass the very object that `beforeBatch` got. Needed only where you ask the guard yourself, and there it makes
   * durations right; see {@link RecordingOptions.ends}. Never throws.
   */
  ended(batch: Batch): void;
  /** Writes what is still to be written, and closes the file. Batches that still run end here. Never rejects; again does nothing. */
  close(): Promise<RecordingReport>;
  /** @internal */
  [ATTACH](attached: Attached): Guard;
}

const SPEC = {
  file: text,
  anonymise: flag,
  ends: oneOf('until_next', 'told'),
  logger,
  clock: (name: string, value: unknown) => {
    if (typeof (value as { now?: unknown } | null)?.now === 'function') return value as { now(): number };
    throw invalidArgument(name, `${name} is no clock: pass an object with the method now`);
  },
};

/**
 * A new recording. Guards write to it behind the agent's back: batches never wait for it, and what goes wrong with the file later ends the
 * recording with one warning and nothing else. A batch is written when it is over; a process that is killed leaves a file that can be read.
 *
 * ```ts
 * const recording = await openRecording({ file: `recordings/${Date.now()}.jsonl` });
 * const guard = createGuard({ driver: localDriver(manager, directory), recording });
 * ```
 *
 * @throws TurnbackError `INVALID_ARGUMENT`, also when the file exists; `NOT_FOUND` when its directory does not; `PERMISSION_DENIED`,
 *   `DISK_FULL`, `IO`
 */
export async function openRecording(given: RecordingOptions): Promise<Recording> {
  const { file, anonymise = false, ends = 'until_next', logger, clock = performance } = options('options', SPEC, given);
  const path = absolute('options.file', file).toString();
  const names: Names = anonymise ? secretNames() : plainNames();
  const writer = await Writer.open(path, logger && safely(logger));
  const name = anonymise ? 'a recording' : `recorded ${new Date().toISOString()}`;
  writer.write({ version: 1, name, batches: [] });
  return recordingOf(
    path,
    writer,
    new Timeline({ clock, names, told: ends === 'told', write: (batch) => writer.write(batch) }),
  );
}

function recordingOf(file: string, writer: Writer, timeline: Timeline): Recording {
  let closed: Promise<RecordingReport> | undefined;
  const close = () => {
    closed ??= (async () => {
      timeline.close();
      const { lines, complete } = await writer.close();
      // The first line is the scenario itself.
      return Object.freeze({ file, batches: Math.max(0, lines - 1), complete });
    })();
    return closed;
  };
  return {
    file,
    ended: (batch) => timeline.ended(batch),
    close,
    [Symbol.asyncDispose]: async () => void (await close()),
    [ATTACH]: (attached) => recordedGuard(timeline, attached),
  };
}
