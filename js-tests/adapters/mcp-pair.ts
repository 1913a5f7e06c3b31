// What the tests of both versions of MCP's SDK share: a server and a client of one version, joined in this process.
import { onTestFinished } from 'vitest';

/** What a tool answers. */
export const said = (text: string) => ({ content: [{ type: 'text' as const, text }] });

interface Peer<T> {
  connect(transport: T): Promise<void>;
}

/** Joins the two by a pair of linked transports; the client is closed with the test. */
export async function linked<T, C extends Peer<T> & { close(): Promise<void> }>(
  server: Peer<T>,
  client: C,
  [one, other]: [T, T],
): Promise<C> {
  await Promise.all([server.connect(one), client.connect(other)]);
  onTestFinished(() => client.close());
  return client;
}
