/** What of a binary can be seen in its first bytes: the system's loader says less, and a file that is cut short ends the process (X5). */
import { node } from './builtin.js';

/** The part of an ELF header that is read: all of one of 64 bits. */
const HEADER = 64;
const CLASS_64_LITTLE_ENDIAN = 0x0102;

/** Node's names of the architectures that ELF numbers. */
const MACHINES = new Map([
  [0x03, 'ia32'],
  [0x28, 'arm'],
  [0x3e, 'x64'],
  [0xb7, 'arm64'],
  [0xf3, 'riscv64'],
]);

/** What keeps a file from being loaded on this machine, as the end of a sentence; `undefined` when nothing does that can be seen. */
export function elfProblem(file: string, arch: string): string | undefined {
  const { fs } = node;
  const found = fs.statSync(file, { throwIfNoEntry: false });
  if (found === undefined) return 'it is not there';
  // Opening a pipe would wait for somebody who writes.
  if (!found.isFile()) return found.isDirectory() ? 'it is a directory' : 'it is no file';
  const descriptor = fs.openSync(file, 'r');
  try {
    const header = Buffer.alloc(HEADER);
    const read = fs.readSync(descriptor, header, 0, HEADER, 0);
    if (read < HEADER || header.readUInt32BE(0) !== 0x7f454c46) return 'it is no ELF binary';
    const machine = header.readUInt16LE(18);
    const made = MACHINES.get(machine) ?? `machine ${machine}`;
    if (header.readUInt16LE(4) !== CLASS_64_LITTLE_ENDIAN || made !== arch) return `it is made for ${made}`;
    // The table of sections stands last.
    const end = Number(header.readBigUInt64LE(40)) + header.readUInt16LE(58) * header.readUInt16LE(60);
    const { size } = found;
    return size < end ? `it is cut short, at ${size} of ${end} bytes` : undefined;
  } finally {
    fs.closeSync(descriptor);
  }
}
