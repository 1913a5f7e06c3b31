/** The processes of this machine, as `/proc` shows them. */
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';

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
    return readlinkSync('/proc/self') === String(process.pid);
  } catch {
    // No such file system here.
    return false;
  }
}

/** All processes that live. One that has ended and is only waited for (a zombie) does not. */
export function living(): Process[] {
  return readdirSync('/proc')
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

/** A file of a process; `undefined` when it ended meanwhile, or we may not. */
function read(pid: number, file: string): Buffer | undefined {
  try {
    return readFileSync(`/proc/${pid}/${file}`);
  } catch {
    // Both are everyday: others' processes come and go, and others' environments are closed to us.
    return undefined;
  }
}
