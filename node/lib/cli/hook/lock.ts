import { connect, createServer, type Server, type Socket } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import type { Logger } from '../../log.js';

/** How long to wait where the holder cannot even be heard, in milliseconds. */
const AGAIN_MS = 10;

/**
 * Does `work` while no other process of this machine does any under the same name. `late`: the signal fired before it could begin.
 *
 * The lock is the name of a socket in the kernel's own table (Linux, not in any file system): one process has it, those who wait are
 * connected to it, and whoever dies lets go of it by dying. Somebody else who takes the name on purpose can delay, and nothing more. Where
 * the system allows no such socket the work is done all the same, and perhaps at the same time as others' (G5): that is warned of, and told to it.
 */
export async function alone<T>(
  name: string,
  { signal, logger }: { signal: AbortSignal; logger: Logger },
  work: (isAlone: boolean) => Promise<T>,
): Promise<T | 'late'> {
  for (;;) {
    if (signal.aborted) return 'late';
    const lock = await Lock.take(`\0turnback-${name}`);
    if (lock === undefined) {
      await letGo(`\0turnback-${name}`, signal);
      continue;
    }
    if (lock instanceof Error) {
      logger.warn(
        { err: lock },
        'the calls of this prompt cannot wait for one another: those that run at the same time may each get a checkpoint, called late',
      );
      return await work(false);
    }
    try {
      return await work(true);
    } finally {
      lock.release();
    }
  }
}

class Lock {
  readonly #server: Server;
  readonly #waiting = new Set<Socket>();

  private constructor(server: Server) {
    this.#server = server;
    server.unref();
    server.on('connection', (socket) => {
      // Whoever waits may leave as it likes.
      socket.on('error', () => {});
      socket.unref();
      this.#waiting.add(socket);
      socket.once('close', () => this.#waiting.delete(socket));
    });
  }

  /** The lock, nothing if somebody has it, or why there can be none. */
  static take(path: string): Promise<Lock | Error | undefined> {
    return new Promise((resolve) => {
      const server = createServer();
      server.once('error', (error: NodeJS.ErrnoException) => resolve(error.code === 'EADDRINUSE' ? undefined : error));
      server.listen(path, () => resolve(new Lock(server)));
    });
  }

  release(): void {
    this.#server.close();
    for (const socket of this.#waiting) socket.destroy();
  }
}

/** Resolves when the holder may have let go, or the signal fires. */
async function letGo(path: string, signal: AbortSignal): Promise<void> {
  const heard = await new Promise<boolean>((resolve) => {
    let connected = false;
    const socket = connect(path);
    const leave = () => void socket.destroy();
    signal.addEventListener('abort', leave, { once: true });
    socket.once('connect', () => {
      connected = true;
    });
    socket.on('error', () => {});
    socket.once('close', () => {
      signal.removeEventListener('abort', leave);
      resolve(connected);
    });
  });
  // It has just gone, or too many wait.
  if (!heard) await pause(AGAIN_MS);
}
