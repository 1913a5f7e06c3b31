import { type Imported, importClaudeCode, importSpans } from 'turnback-policy/importers';
import { measuredDriver, parseScenario, type Scenario } from 'turnback-policy/simulate';
import { plural } from '../model/format.js';

/** What a text holds, and what should be said of it. */
export interface Text {
  readonly scenario: Scenario;
  readonly notes: readonly string[];
}

/** So much of a text tells what it is. */
const HEAD = 20_000;

/**
 * Reads a scenario, or a log that holds one: a session of Claude Code, or spans of OpenTelemetry. What is neither is read as a scenario, so that
 * its faults are told as those of one.
 *
 * @throws TurnbackError `INVALID_ARGUMENT`, with the place where the text is wrong
 */
export async function readText(text: string): Promise<Text> {
  const head = text.slice(0, HEAD);
  if (/"(resourceSpans|resource_spans|scopeSpans)"/.test(head))
    return imported('spans of OpenTelemetry', importSpans(text));
  if (/"sessionId"\s*:/.test(head) && !/"version"\s*:\s*1\s*[,}]/.test(head)) {
    // The proof is larger than all the rest: only who needs it fetches it.
    const { isReadOnly } = await import('turnback-policy/read-only');
    return imported('a session of Claude Code', importClaudeCode(text, { isReadOnly }));
  }
  const notes: string[] = [];
  const scenario = parseScenario(text, {
    onDropped: ({ line }) => notes.push(`Line ${line}, the last one, was cut off: the batch in it is left out.`),
  });
  const driver = scenario.driver ?? measuredDriver(scenario);
  if (driver === undefined || scenario.driver !== undefined) return { scenario, notes };
  notes.push('Attempts that were not recorded go by the driver that the recording saw.');
  return { scenario: { ...scenario, driver }, notes: [notes.join(' ')] };
}

function imported(what: string, { scenario, skipped, skippedParts, unfinished }: Imported): Text {
  const [first] = skippedParts;
  const parts = [
    `Read as ${what}: ${plural(scenario.batches.length, 'tool call')}.`,
    unfinished > 0 && `${plural(unfinished, 'call')} without an end last to the end of their session.`,
    first !== undefined &&
      `${plural(skipped, 'part')} could not be used; the first is on line ${first.line}: ${first.reason}.`,
  ];
  return { scenario, notes: [parts.filter((part) => part !== false).join(' ')] };
}
