import { untilAborted } from '../../bash/waits.js';

/** More than any tool call has, in bytes. */
const MOST_BYTES = 64 * 1024 * 1024;

/** All that standard input holds, as text. What goes on for too long is read to its end all the same, so that whoever writes is not disturbed. */
export async function standardInput(signal: AbortSignal): Promise<string> {
  if (process.stdin.isTTY) throw new Error('there is no input: a host writes it, and not a terminal');
  try {
    const read = await untilAborted(signal, all());
    if (read === 'aborted') throw new Error('the input did not end in time');
    return read;
  } finally {
    process.stdin.destroy();
  }
}

async function all(): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of process.stdin as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes <= MOST_BYTES) chunks.push(chunk);
    else chunks.length = 0;
  }
  if (bytes > MOST_BYTES) throw new Error(`the input has ${bytes} bytes, which is more than is read`);
  // Without the mark that some hosts put before a text.
  return new TextDecoder().decode(Buffer.concat(chunks));
}
