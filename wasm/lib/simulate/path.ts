/** The way to a value in a scenario, as messages and `details.path` write it: `batches[3].startMs`. */
import type { Step } from './json.js';

const NAME = /^[A-Za-z_$][\w$]*$/;
const PLACE = /^\[(\d+)\]/;

/** A path as text; names that are none of JavaScript's stand in brackets. The whole scenario is the empty text. */
export function pathOf(steps: readonly Step[]): string {
  return steps
    .map((step, at) => {
      if (typeof step === 'number') return `[${step}]`;
      if (!NAME.test(step)) return `[${JSON.stringify(step.length > 40 ? `${step.slice(0, 40)}…` : step)}]`;
      return at === 0 ? step : `.${step}`;
    })
    .join('');
}

/** The steps of a path in this value, as far as it has them. Names may hold anything, so they are looked for in the value. */
export function stepsOf(path: string, value: unknown): Step[] {
  const steps: Step[] = [];
  let rest = path;
  let here = value;
  while (rest !== '') {
    const place = PLACE.exec(rest);
    const step = Array.isArray(here) && place !== null ? Number(place[1]) : nameIn(rest, here);
    if (step === undefined) break;
    rest = typeof step === 'number' ? rest.slice(place?.[0].length) : rest.slice(step.length);
    if (rest.startsWith('.')) rest = rest.slice(1);
    here = (here as Record<Step, unknown>)[step];
    steps.push(step);
  }
  return steps;
}

/** The longest name of an object that a path begins with. */
function nameIn(path: string, value: unknown): string | undefined {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined;
  const fits = (name: string) => path.startsWith(name) && /^$|[.[]/.test(path.slice(name.length, name.length + 1));
  return Object.keys(value)
    .filter(fits)
    .sort((one, other) => other.length - one.length)[0];
}
