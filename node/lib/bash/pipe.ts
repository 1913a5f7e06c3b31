import type { Socket } from 'node:net';
import { basename, dirname, join } from 'node:path';
import { node } from '../builtin.js';
import { canWrite } from './processes.js';
import { mkfifo } from './programs.js';
import { systemError } from './system-error.js';

/**
 * A pipe of the kernel. What Node calls a pipe to a child is a socket, which cannot be opened by name: `echo >/dev/stderr`
 * and `tee /dev/stderr` would fail in it. Node has no call for a real one, so it is made with a name, which goes at once.
 */
export interface Pipe {
  /** What the command wrote. */
  readonly output: Socket;
  /** The end for the command. */
  readonly input: number;
  /** Lets go of the command's end: then the output ends when the last process lets go of it. */
  closeInput(): void;
  /** Whether a process can write into it, as far as we may see that. */
  heldBy(pid: number): boolean;
}

/** Makes the pipes for standard output and standard error. */
export async function makePipes(): Promise<[Pipe, Pipe]> {
  const program = await mkfifo();
  try {
    const directory = await node.fs.promises.mkdtemp(join(node.os.tmpdir(), 'turnback-pipe-'));
    try {
      const [stdout, stderr] = [join(directory, 'stdout'), join(directory, 'stderr')];
      await node.util.promisify(node.childProcess.execFile)(program, ['-m', '600', stdout, stderr]);
      const first = openPipe(stdout);
      try {
        return [first, openPipe(stderr)];
      } catch (error) {
        discard([first]);
        throw error;
      }
    } finally {
      await node.fs.promises.rm(directory, { recursive: true, force: true });
    }
  } catch (cause) {
    throw systemError(
      'no pipe for the output can be made',
      `look at ${node.os.tmpdir()}: set TMPDIR to a usable place`,
      cause,
    );
  }
}

/** Closes all that is still open. */
export function discard(pipes: readonly Pipe[]): void {
  for (const pipe of pipes) {
    pipe.closeInput();
    pipe.output.destroy();
  }
}

function openPipe(path: string): Pipe {
  const { O_RDONLY, O_NONBLOCK, O_WRONLY } = node.fs.constants;
  // In this order: without a reader the other end cannot be opened without waiting.
  const reader = node.fs.openSync(path, O_RDONLY | O_NONBLOCK);
  let input: number;
  try {
    input = node.fs.openSync(path, O_WRONLY);
  } catch (error) {
    node.fs.closeSync(reader);
    throw error;
  }
  let open = true;
  const identity = node.fs.fstatSync(reader);
  const name = join(basename(dirname(path)), basename(path));
  return {
    output: new node.net.Socket({ fd: reader, readable: true, writable: false }),
    input,
    closeInput() {
      if (open) node.fs.closeSync(input);
      open = false;
    },
    heldBy: (pid) => canWrite(pid, identity, name),
  };
}
