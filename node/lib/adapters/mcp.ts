/**
 * The guard around the tools of the Model Context Protocol, in a server or in a client: of version 1 of its SDK
 * (`@modelcontextprotocol/sdk`; tested with 1.32) and of version 2 (`@modelcontextprotocol/server`, `@modelcontextprotocol/client`; tested with
 * 2.4). Nothing of the SDK is imported.
 */
import { listOf, record } from '../check.js';
import { invalidArgument } from '../errors.js';
import { guarded, signalIn } from './call.js';
import { askedOf, checkedOptions, type GuardedOptions } from './options.js';

/** What a tool says of itself. Hints: whoever wrote the server can write anything here. */
export interface ToolHints {
  /** The tool changes nothing. */
  readonly readOnlyHint?: boolean | undefined;
  /** Whether what it changes may be lost; if not, it only adds. Without it: yes. */
  readonly destructiveHint?: boolean | undefined;
}

/** What {@link guardTool} takes. The functions get what the SDK calls the tool with. */
export interface GuardToolOptions<Args extends readonly unknown[]> extends GuardedOptions<Args> {
  /** The tool's own annotations, to be believed: one that says that it destroys nothing needs no checkpoint. Without them it needs one. */
  annotations?: ToolHints | undefined;
}

/**
 * A tool's handler, for `server.registerTool`, with the guard asked directly before it. Each request is a turn of its own, because
 * the protocol knows none, unless `turnId` says which: the client may send it in `_meta`. The request's signal cancels it.
 *
 * @throws TurnbackError `INVALID_ARGUMENT` for options that can never be right
 */
export function guardTool<Args extends unknown[], Result>(
  handler: (...args: Args) => Result,
  options: GuardToolOptions<Args>,
): (...args: Args) => Promise<Awaited<Result>> {
  if (typeof handler !== 'function')
    throw invalidArgument('handler', "handler is no function: pass the tool's handler");
  const checked = checkedOptions(options, { annotations: record });
  const harmless = isHarmless(checked.annotations);
  // The arguments come first, if the tool takes any, and what belongs to the request last: unless somebody calls the handler without it.
  const ask = (_: unknown, args: unknown[]) => (harmless ? undefined : askedOf(checked, args, signalOf(args.at(-1))));
  return guarded(handler as never, ask) as (...args: Args) => Promise<Awaited<Result>>;
}

/** What is needed of a client. */
export interface ToolCaller {
  callTool(params: never, ...rest: never[]): Promise<unknown>;
}

/** What {@link guardCallTool} takes. The functions get what `callTool` is called with. */
export interface GuardCallToolOptions<Caller extends ToolCaller>
  extends GuardedOptions<Parameters<Caller['callTool']>> {
  /**
   * The tools of a server that you trust, as its `listTools` gave them: those that say that they destroy nothing need no
   * checkpoint. Leave it out for any other server; then each call needs one.
   */
  trustedTools?: readonly { readonly name: string; readonly annotations?: ToolHints | undefined }[] | undefined;
}

/**
 * The client's `callTool`, with the guard asked directly before the request is sent. Each call is a turn of its own, unless
 * `turnId` says which.
 *
 * @throws TurnbackError `INVALID_ARGUMENT` for options that can never be right
 */
export function guardCallTool<Caller extends ToolCaller>(
  client: Caller,
  options: GuardCallToolOptions<Caller>,
): Caller['callTool'] {
  if (typeof client?.callTool !== 'function') {
    throw invalidArgument('client', 'client has no method callTool: pass a client of the Model Context Protocol');
  }
  const checked = checkedOptions(options, { trustedTools: listOf(record, MOST_TOOLS) });
  const harmless = new Set(
    (checked.trustedTools ?? []).filter((tool) => isHarmless(tool.annotations)).map((tool) => tool.name),
  );
  const ask = (_: unknown, args: unknown[]) => {
    const [params, ...rest] = args as [{ name?: unknown } | undefined, ...unknown[]];
    // The request's options are the third argument in version 1, after the result's schema, and the second one in version 2.
    const signal = signalIn(rest[1], 'signal') ?? signalIn(rest[0], 'signal');
    return harmless.has(params?.name as string) ? undefined : askedOf(checked, args, signal);
  };
  return guarded(client.callTool.bind(client) as never, ask) as Caller['callTool'];
}

/** The signal of a request, in what a handler is told of it: in version 2 it is one level further in. */
function signalOf(request: unknown): AbortSignal | undefined {
  const own = signalIn(request, 'signal');
  if (own !== undefined || typeof request !== 'object' || request === null) return own;
  return signalIn((request as { mcpReq?: unknown }).mcpReq, 'signal');
}

/** More than any server has. */
const MOST_TOOLS = 100_000;

/** Exactly what the protocol defines: hints that contradict each other, or are no booleans, say nothing. */
function isHarmless(hints: ToolHints | undefined): boolean {
  if (hints?.readOnlyHint === true) return hints.destructiveHint !== true;
  return hints?.destructiveHint === false;
}
