const names = new WeakMap<readonly string[], readonly string[]>();

/**
 * What the turns of a scenario are called where there is little room: without the `turn-` before each. Where two would then be called the
 * same, or one nothing at all, all keep their ids.
 */
export function turnNames(turns: readonly string[]): readonly string[] {
  const known = names.get(turns);
  if (known !== undefined) return known;
  const short = turns.map((turn) => turn.replace(/^turn[-_ ]?/, ''));
  const apart = new Set(short).size === short.length && !short.includes('');
  const made = apart ? short : turns;
  names.set(turns, made);
  return made;
}
