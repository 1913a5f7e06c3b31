// What the tests of plans share: a manager and a sandbox that do what they are told and write down what they were asked.
import type { CommitReport, Logger, PlanCheckpoints, RollbackReport, Sandbox, SandboxCheckpoint } from 'turnback';

/** What happened, in order. */
export type Journal = unknown[][];

/** Settles or fails as the test says; `undefined` stands for the default answer. */
export interface Behaviour {
  /** By phase: what the checkpoint fails with. */
  checkpoint?: Partial<Record<string, unknown>>;
  rollback?: unknown;
  /** What the rollback's report says; whole by default. */
  report?: Partial<RollbackReport>;
  enter?: unknown;
  commit?: unknown;
  committed?: Partial<CommitReport>;
}

/** A failure, or none: `in` tells a failure of `undefined` from none. */
function failIf(told: object, name: string): void {
  if (name in told) throw (told as Record<string, unknown>)[name];
}

export function world(behaviour: Behaviour = {}, strategy: Sandbox['strategy'] = 'copy_on_write') {
  const journal: Journal = [];
  const lines: { level: string; message: string; fields: Record<string, unknown> }[] = [];
  const log = (level: string) => (fields: object, message: string) => {
    lines.push({ level, message, fields: fields as Record<string, unknown> });
  };
  const logger: Logger = { debug: log('debug'), info: log('info'), warn: log('warn'), error: log('error') };
  let made = 0;
  const checkpointManager: PlanCheckpoints = {
    async createCheckpoint(target, planId, phase, metadata) {
      journal.push(['checkpoint', (target as Sandbox).id, planId, phase, metadata]);
      failIf(behaviour.checkpoint ?? {}, phase);
      made += 1;
      return { checkpointId: `${phase}-${made}` } as SandboxCheckpoint;
    },
    async rollbackTo(checkpoint, options) {
      journal.push(['rollback', checkpoint.checkpointId, options]);
      failIf(behaviour, 'rollback');
      return {
        restored: true,
        undoCheckpointId: 'undo-1',
        kept: [],
        notRestorable: [],
        ...behaviour.report,
      } as unknown as RollbackReport;
    },
  };
  const sandbox = {
    id: 'sb-1',
    path: '/sandbox',
    strategy,
    async enter() {
      journal.push(['enter']);
      failIf(behaviour, 'enter');
      return '/sandbox';
    },
    async commit(options?: object) {
      journal.push(['commit', options]);
      failIf(behaviour, 'commit');
      return { committed: true, changes: [], conflicts: [], heldBack: [], ...behaviour.committed };
    },
  } as unknown as Sandbox;
  return { journal, lines, logger, checkpointManager, sandbox };
}

/** The names of what happened. */
export const steps = (journal: Journal) => journal.map(([what, ...more]) => (what === 'checkpoint' ? more[2] : what));
