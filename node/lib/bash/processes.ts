import { node } from '../builtin.js';
import { systemCode } from './system-error.js';

/** The processes of this machine, as `/proc` shows them. */

/** One process. Number and start together name it: numbers are used again. */
export interface Process {
  readonly pid: number;
  readonly parent: number;
  readonly group: number;
  readonly session: number;
  /** In ticks since the machine started. */
  readonly started: number;
}

/** Whether `/proc` is there and is about this process's numbers: in a container it can be another's. */
export function procfs(): boolean {
  try {
    return node.fs.readlinkSync('/proc/self') === String(process.pid);
  } catch {
    // No such file system here.
    return false;
  }
}

/** The system has no descriptor or memory for a look: that says nothing of any process. */
const NO_LOOK = new Set(['EMFILE', 'ENFILE', 'ENOMEM', 'EAGAIN', 'EINTR']);

/** Goes on if a look failed because of what it looked at. */
function everyday(error: unknown): void {
  if (NO_LOOK.has(systemCode(error))) throw error;
}

/**
 * All processes that live. One that has ended and is only waited for (a zombie) does not.
 *
 * @throws the system's error when they cannot be looked at, as all of this file do that look: then nobody knows
 */
export function living(): Process[] {
  return node.fs
    .readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((name) => {
      const found = look(Number(name));
      return found === undefined || found.state === 'Z' || found.state === 'X' ? [] : [found];
    });
}

/** One process, also if it is a zombie; `undefined` when there is none of this number. */
export function look(pid: number): (Process & { readonly state: string }) | undefined {
  const text = read(pid, 'stat')?.toString('latin1');
  if (text === undefined) return undefined;
  // `pid (name) state …`; the name can hold anything, parentheses too.
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  const number = (at: number) => Number(fields[at]);
  return {
    pid,
    state: fields[0] ?? '',
    parent: number(1),
    group: number(2),
    session: number(3),
    started: number(19),
  };
}

/**
 * Whether a process was started with this variable: `unclear` while it has no environment at all, as at the moment when it
 * becomes another program. `no` also where its environment is not for us to read.
 */
export function startedWith(pid: number, variable: string): 'yes' | 'no' | 'unclear' {
  const environment = read(pid, 'environ');
  if (environment === undefined) return 'no';
  if (environment.length === 0) return 'unclear';
  const wanted = `${variable}=`;
  return environment.includes(`\0${wanted}`) || environment.indexOf(wanted) === 0 ? 'yes' : 'no';
}

/**
 * Whether a process has a file open for writing, as far as we may see that. The kernel's text for a descriptor holds the canonical
 * path that the file was opened by, also when that is gone, so `name` has to be the end of it. That keeps us from asking a file
 * system that hangs.
 */
export function canWrite(pid: number, file: { dev: number; ino: number }, name: string): boolean {
  const folder = `/proc/${pid}/fd`;
  try {
    return node.fs.readdirSync(folder).some((descriptor) => {
      try {
        if (!node.fs.readlinkSync(`${folder}/${descriptor}`).includes(`/${name}`)) return false;
        const { dev, ino } = node.fs.statSync(`${folder}/${descriptor}`);
        return dev === file.dev && ino === file.ino && mayWrite(pid, descriptor);
      } catch (error) {
        // Closed meanwhile.
        everyday(error);
        return false;
      }
    });
  } catch (error) {
    // Ended meanwhile, or another user's.
    everyday(error);
    return false;
  }
}

function mayWrite(pid: number, descriptor: string): boolean {
  const { O_WRONLY, O_RDWR } = node.fs.constants;
  const flags = /^flags:\s*([0-7]+)$/m.exec(read(pid, `fdinfo/${descriptor}`)?.toString('latin1') ?? '')?.[1] ?? '0';
  return (Number.parseInt(flags, 8) & (O_WRONLY | O_RDWR)) !== 0;
}

/** A file of a process; `undefined` when it ended meanwhile, or we may not. */
function read(pid: number, file: string): Buffer | undefined {
  try {
    return node.fs.readFileSync(`/proc/${pid}/${file}`);
  } catch (error) {
    // Others' processes come and go, and others' environments are closed to us.
    everyday(error);
    return undefined;
  }
}
