import { connect, createServer, type Server, type Socket } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';

/** How long to wait where the holder cannot even be heard, in milliseconds. */
const AGAIN_MS = 10;

/**
 * Does `work` while no other process of this machine does any under the same name. `late`: the signal fired before it could begin.
 *
 * The lock is the name of a socket in the kernel's own table (Linux, not in any file system): one process has it, those who wait are
 * connected to it, and whoever dies lets go of it by dying. Somebody else who takes the name on purpose can delay, and nothing more.
 */
export async function alone<T>(name: string, signal: AbortSignal, work: () => Promise<T>): Promise<T | 'late'> {
  for (;;) {
    if (signal.aborted) return 'late';
    const lock = await Lock.take(`\0turnback-${name}`);
    if (lock === undefined) {
      await letGo(`\0turnback-${name}`, signal);
      continue;
    }
    try {
      return await work();
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

  /** The lock, or nothing if somebody has it. */
  static take(path: string): Promise<Lock | undefined> {
    return new Promise((resolve, reject) => {
      const server = createServer();
      server.once('error', (error: NodeJS.ErrnoException) => {
        if (error.code === 'EADDRINUSE') resolve(undefined);
        else reject(error);
      });
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
