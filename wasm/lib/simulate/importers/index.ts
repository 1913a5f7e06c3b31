/** Scenarios out of the logs that others write (P4): what an agent did, to be replayed under a policy. Pure, for browsers and Node. */
export { type ClaudeCodeOptions, importClaudeCode } from './claude-code.js';
export type { Imported, SkippedPart } from './imported.js';
export { importSpans, type SpanOptions } from './spans.js';
