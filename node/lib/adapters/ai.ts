/**
 * The guard in the tools of the AI SDK (package `ai`, versions 5 to 7). Nothing of the SDK is imported: the types are those of
 * the caller's tools.
 */
import { invalidArgument } from '../errors.js';
import { type Asked, guarded, isAsyncGenerator, signalIn, type Work } from './call.js';
import { checkedOptions, type GuardedOptions } from './options.js';
import { turnOfCall } from './run.js';
import { saidBy, sandboxSaid, turnSaid } from './said.js';
import { turnIn } from './turn-id.js';

export type { GuardedOptions };

/** What {@link wrapTools} takes. The functions get what the SDK calls a tool with. */
export type WrapToolsOptions = GuardedOptions<[input: unknown, options: unknown]>;

/**
 * The same tools, with the guard asked directly before each `execute`: after the input was validated and the call approved, so
 * that a call that is denied costs no checkpoint (G13). All calls of one run (one `generateText` or `streamText`) are one turn,
 * its parallel calls and all its steps; two runs are two, also over the same wrapped tools at the same time.
 *
 * Tools without `execute`, and everything else of a tool, stay as they are. With `onFailure: 'block'` a missing checkpoint is the
 * tool's error, and the tool does not run; so it is when the run's `abortSignal` fires before.
 *
 * The turn is, in this order: what `turnId(input, options)` gives; the text `turnId` in the run's own context
 * (`experimental_context` in versions 5 and 6, the tool's `context` in 7); the run, as seen from its messages. Where a run cannot
 * be made out, each step is a turn (G11).
 *
 * @throws TurnbackError `INVALID_ARGUMENT` for options that can never be right, or what is no set of tools
 */
export function wrapTools<T extends object>(tools: T, options: WrapToolsOptions): T {
  const checked = checkedOptions(options);
  if (typeof tools !== 'object' || tools === null || Array.isArray(tools)) {
    throw invalidArgument('tools', 'tools is no set of tools: pass an object with a tool under each name');
  }
  const wrapped = copyOf(tools) as Record<string, unknown>;
  for (const [name, tool] of Object.entries(tools)) {
    if (tool === undefined || tool === null) continue;
    if (typeof tool !== 'object') {
      throw invalidArgument(
        'tools',
        `tools[${JSON.stringify(name)}] is no tool: pass an object with a tool under each name`,
      );
    }
    Object.defineProperty(wrapped, name, { ...PROPERTY, value: wrapTool(tool, checked) });
  }
  return wrapped as T;
}

const PROPERTY = { configurable: true, enumerable: true, writable: true };

function wrapTool(tool: object, options: WrapToolsOptions): object {
  const { execute } = tool as { execute?: unknown };
  if (typeof execute !== 'function') return tool;
  // As the SDK calls it: on the tool, and not on its copy, which has none of a class's private fields.
  const work = execute.bind(tool) as Work;
  const ask = (_: unknown, args: unknown[]): Asked => ({
    guard: options.guard,
    sandboxId: sandboxSaid(options.sandboxId, args),
    turnId: turnOf(args, options),
    command: options.command === undefined ? undefined : saidBy(options.command, args),
    signal: signalIn(args[1], 'abortSignal'),
  });
  const copy = copyOf(tool);
  const call = guarded(isAsyncGenerator(work) ? work : settled(work), ask);
  Object.defineProperty(copy, 'execute', { ...PROPERTY, value: call });
  return copy;
}

/** Another object with the same properties, getters among them, and the same class. */
function copyOf(of: object): object {
  const properties = Object.getOwnPropertyDescriptors(of) as Record<string, PropertyDescriptor>;
  // A frozen object's are not.
  for (const property of Object.values(properties)) property.configurable = true;
  return Object.create(Object.getPrototypeOf(of), properties);
}

function turnOf(args: unknown[], options: WrapToolsOptions): string {
  const said = turnSaid(options.turnId, args);
  // Asked in any case: a run may be made out by a call whose turn somebody said.
  const found = turnOfCall(args[0], args[1]);
  return said ?? turnOfContext(args[1]) ?? found;
}

/** The id that the caller put into the run's context. The object itself says nothing: it may be shared by many runs. */
function turnOfContext(options: unknown): string | undefined {
  const { context, experimental_context } = (options ?? {}) as Record<string, unknown>;
  for (const given of [context, experimental_context]) {
    const turnId = typeof given === 'object' && given !== null && 'turnId' in given ? turnIn(given.turnId) : undefined;
    if (turnId !== undefined) return turnId;
  }
  return undefined;
}

/**
 * A function that returns an async iterable and is no async generator could not be told from others before its checkpoint was
 * made. The SDK then gets a promise of what it yielded last, which is its result; what came before is not streamed.
 */
function settled(work: Work): Work {
  return function (this: unknown, ...args: never[]) {
    const result = Reflect.apply(work, this, args);
    return isAsyncIterable(result) ? lastOf(result) : result;
  };
}

function isAsyncIterable(value: unknown): value is AsyncIterable<unknown> {
  return typeof value === 'object' && value !== null && Symbol.asyncIterator in value;
}

async function lastOf(values: AsyncIterable<unknown>): Promise<unknown> {
  let last: unknown;
  for await (const value of values) last = value;
  return last;
}
