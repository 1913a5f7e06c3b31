import type { Policy, Summary } from 'turnback-policy/simulate';
import { figure } from '../chart/figure.js';
import type { Run } from '../model/columns.js';
import { duration, plural } from '../model/format.js';
import { letter, nameOf } from '../model/policy-words.js';
import { inHowMany, losesEverything, worstText } from '../model/worst.js';
import rules from '../style/chart.css?inline';
import { byId, el } from './dom.js';
import type { Timeline } from './timeline.js';

/** The timeline as it is seen, as a file. */
export function savedFigure(
  title: string,
  headline: string,
  { frame, axis, bands }: Timeline['pictures'],
  runs: readonly Run[],
  policies: readonly Policy[],
): string {
  return figure({
    title,
    headline,
    frame,
    axis,
    style: named(rules),
    patterns: byId('patterns').innerHTML,
    bands: bands.map((band, place) => {
      const [policy, summary] = [policies[place], runs[place]?.summary];
      return {
        ...band,
        name: `${letter(place)}  ${policy === undefined ? '' : nameOf(policy)}`,
        figures:
          summary === undefined
            ? ''
            : `${lostText(summary)} · ${plural(summary.checkpoints, 'checkpoint')} · ${duration(summary.waiting.totalMs)} waited · ${summary.unprotected} unprotected`,
      };
    }),
  });
}

const lostText = (summary: Summary): string =>
  losesEverything(summary)
    ? `everything lost at worst, ${inHowMany(summary)}`
    : `${worstText(summary)} of earlier work lost at worst`;

/** The rules with the colours of the present theme in place of the variables, which stay behind with the page. */
function named(css: string): string {
  const probe = el('span', { hidden: true });
  document.body.append(probe);
  const colours = css.replaceAll(/var\((--[a-z0-9-]+)\)/g, (_, name: string) => {
    probe.style.color = `var(${name})`;
    return getComputedStyle(probe).color;
  });
  probe.remove();
  return colours;
}
