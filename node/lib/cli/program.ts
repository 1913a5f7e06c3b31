/** Other programs, with the terminal as it is. */
import { type ChildProcess, type SpawnOptions, spawn } from 'node:child_process';
import { codeOf, type Requests } from './ending.js';
import { printable } from './text.js';

/** What a shell answers when a program cannot be started. */
const NOT_FOUND = 127;

/** Runs a program to its end: its exit code; 128 and the signal's number when a signal ended it; 127 when it cannot be started. */
export function execute(program: string, args: string[], options: SpawnOptions, requests: Requests): Promise<number> {
  return new Promise((settle) => {
    const cannot = (error: NodeJS.ErrnoException) => {
      const shown = printable(program) || "''";
      process.stderr.write(`turnback: cannot run ${shown}: ${error.code ?? error.message}\n`);
      settle(NOT_FOUND);
    };
    let child: ChildProcess;
    try {
      child = spawn(program, args, options);
    } catch (error) {
      return cannot(error as NodeJS.ErrnoException);
    }
    requests.passOnTo(child);
    child.once('error', cannot);
    child.once('exit', (code, signal) => settle(code ?? (signal === null ? 128 : codeOf(signal))));
  });
}
