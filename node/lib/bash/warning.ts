/** Tells whoever runs this process of a failure in a function of theirs, which changes nothing for the command. */
export function warn(what: string, error: unknown): void {
  process.emitWarning(`${what}: ${describe(error)}`, 'TurnbackWarning');
}

/** Anything can be thrown, also what cannot be made text. */
function describe(error: unknown): string {
  try {
    return String(error);
  } catch {
    return 'a value that has no text';
  }
}
