/** What becomes of the work of a command that ran in a sandbox: committed, discarded or kept, and never lost. */
import type { CheckpointManager } from '../manager.js';
import type { AnySandbox, CleanupReport, CommitOptions, CommitReport } from '../sandbox/index.js';
import type { Change, Long } from '../types.js';
import type { Given, Tools } from './command.js';
import { commitLines } from './commit-lines.js';
import type { Requests } from './ending.js';
import { EXIT } from './exit.js';
import { errorDocument } from './json.js';
import { changeCounts, changeLines, changeSummary } from './lists.js';
import { page } from './pager.js';
import { ask, canAsk } from './question.js';
import { changedLines, next, remainsLines, savedLines } from './sandboxes.js';
import { sentence } from './sentence.js';
import { count, printable, printableMessage } from './text.js';

/** What the command line says about the work. */
export type Wish = 'ask' | 'yes' | 'discard' | 'keep';

/** A command that ran. */
export interface Ran {
  manager: CheckpointManager;
  sandbox: AnySandbox;
  exitCode: number;
  wish: Wish;
  options: CommitOptions;
}

/** How it ended, and the exit code where the command's own is 0. */
type End =
  | { outcome: 'unchanged' | 'discarded' | 'committed' | 'conflicts' | 'kept'; code: number; [more: string]: unknown }
  | { outcome: 'failed'; code: number; error: unknown };

/** Decides, does it, and says so: the exit code. */
export async function settle(ran: Ran, requests: Requests, given: Given, tools: Tools): Promise<number> {
  const { output } = tools;
  const { id, path, resource, strategy, mechanism } = ran.sandbox;
  const work = new Work(ran, requests, given, tools);
  let end: End;
  try {
    end = await work.end();
  } catch (error) {
    // Whatever failed, the sandbox is there. Of an interrupt its error says how far the work had come.
    process.stderr.write(`turnback: ${printableMessage(sentence(error, given.value('store')))}\n`);
    end = { outcome: 'failed', code: requests.code ?? EXIT.failed, error };
  }
  if (end.outcome !== 'unchanged' && !work.removed) work.tellKept(end.outcome);
  const { code, ...told } = end;
  const error = end.outcome === 'failed' ? errorDocument(end.error) : {};
  output.answer(
    {
      sandbox: { id, path, resource, strategy, mechanism, kept: !work.removed },
      exitCode: ran.exitCode,
      ...told,
      ...error,
    },
    () => [],
    () => [],
  );
  return ran.exitCode === 0 || code > 128 ? code : ran.exitCode;
}

class Work {
  readonly #ran: Ran;
  readonly #requests: Requests;
  readonly #given: Given;
  readonly #tools: Tools;
  removed = false;

  constructor(ran: Ran, requests: Requests, given: Given, tools: Tools) {
    this.#ran = ran;
    this.#requests = requests;
    this.#given = given;
    this.#tools = tools;
  }

  async end(): Promise<End> {
    const { sandbox, exitCode, wish } = this.#ran;
    const { output, partial } = this.#tools;
    const changes = await this.#long((limits) => sandbox.changes(limits));
    if (changes.length === 0) {
      const report = await this.#remove(false);
      output.note('nothing changed; the sandbox is gone');
      output.tell(remainsLines(report.remains));
      return { outcome: 'unchanged', code: EXIT.done, changes, ...report };
    }
    const told = { changes, counts: changeCounts(changes) };
    const forPeople = !output.json && !output.quiet;
    const asked = wish === 'ask' && forPeople && canAsk() && !this.#requests.passedOn;
    if (asked) await this.#page(changes);
    else if (this.#given.has('patch')) output.tell(await this.#lines(changes));
    else output.tell(briefly(changes));
    if (asked) return { ...(await this.#asked(changes)), ...told };
    if (wish === 'ask') {
      output.note('nobody can be asked here; --yes commits and --discard discards without asking');
      return { outcome: 'kept', code: partial, ...told };
    }
    if (wish === 'yes' && (exitCode !== 0 || this.#requests.passedOn)) {
      const why = exitCode === 0 ? 'somebody asked to end' : `the command failed with ${exitCode}`;
      output.note(`${why}: the work is not committed`);
      return { outcome: 'kept', code: EXIT.done, ...told };
    }
    if (wish === 'yes') return { ...(await this.#commit()), ...told };
    return wish === 'discard' ? { ...(await this.#discard()), ...told } : { outcome: 'kept', code: EXIT.done, ...told };
  }

  /** Where the work lies, and what can be done with it, if that was not said. */
  tellKept(outcome: End['outcome']): void {
    const { output } = this.#tools;
    const { id, path } = this.#ran.sandbox;
    if (output.quiet) process.stderr.write(`${id}\n`);
    const what = outcome === 'committed' ? 'What was not committed' : 'The work';
    const said = outcome === 'committed' || outcome === 'conflicts';
    output.tell([
      `${what} is kept in sandbox ${id}:`,
      `  ${printable(path)}`,
      `To see it:      ${next(this.#given, `changes ${id}`)}`,
      ...(said ? [] : [`To commit it:   ${next(this.#given, `commit ${id}`)}`]),
      `To discard it:  ${next(this.#given, `cleanup ${id} --force`)}`,
    ]);
  }

  async #asked(changes: readonly Change[]): Promise<End> {
    const what = `${count(changes.length, 'path')} changed: ${changeSummary(changes)}.`;
    const { exitCode, sandbox } = this.#ran;
    if (exitCode !== 0) process.stderr.write(`The command failed with ${exitCode}.\n`);
    process.stderr.write(`${what} Commit to ${printable(sandbox.resource)}?\n`);
    // A request to end that came while the pager was there is one, too.
    while (!this.#requests.passedOn) {
      const question = '[y] commit  [n] keep the sandbox  [d] discard  [v] view again: ';
      const answer = await ask(question, ['yes', 'no', 'discard', 'view'] as const, this.#requests.signal);
      if (answer === 'yes') return await this.#commit();
      if (answer === 'discard') return await this.#discard();
      if (answer === 'no') return { outcome: 'kept', code: EXIT.done };
      if (answer !== 'view') {
        const interrupted = answer.none === 'interrupted' ? INTERRUPTED : EXIT.done;
        return { outcome: 'kept', code: this.#requests.code ?? interrupted };
      }
      await this.#page(changes);
    }
    return { outcome: 'kept', code: this.#tools.partial };
  }

  async #page(changes: readonly Change[]): Promise<void> {
    const text = `${(await this.#lines(changes)).join('\n')}\n`;
    if (process.stdout.isTTY)
      await page(text, (pager) => this.#requests.passOnTo(pager)).finally(() => this.#requests.ended());
    else process.stderr.write(text);
  }

  #lines(changes: readonly Change[]): Promise<string[]> {
    const { manager, sandbox } = this.#ran;
    return changedLines(manager, sandbox, changes);
  }

  async #commit(): Promise<End> {
    const { sandbox, options } = this.#ran;
    const { output, partial } = this.#tools;
    const report = await this.#long((limits) => sandbox.commit({ ...options, ...limits }));
    output.tell(
      commitLines(report, {
        place: printable(sandbox.resource),
        directory: sandbox.resource,
        branchOnly: options.merge === 'branch',
        again: next(this.#given, `commit ${sandbox.id}`),
        onConflict: options.onConflict ?? 'fail',
        mergesTexts: sandbox.strategy === 'git_worktree' || options.textMerge === true,
        takesGit: sandbox.strategy !== 'git_worktree',
        paths: false,
      }),
    );
    if (!report.committed) return { outcome: 'conflicts', code: EXIT.conflicts, commit: report };
    if (report.heldBack.length > 0) return { outcome: 'committed', code: partial, commit: report };
    this.#tellUndo(report);
    let removed: CleanupReport;
    try {
      removed = await this.#remove(false);
    } catch (error) {
      // For example because something that the command left running went on working there.
      output.note(`the sandbox stays: ${printableMessage(sentence(error, this.#given.value('store')))}`);
      return { outcome: 'committed', code: partial, commit: report };
    }
    output.tell(remainsLines(removed.remains));
    return { outcome: 'committed', code: EXIT.done, commit: report, ...removed };
  }

  #tellUndo({ preApplyCheckpointId }: CommitReport): void {
    const { sandbox } = this.#ran;
    if (preApplyCheckpointId === undefined || sandbox.strategy === 'git_worktree') return;
    const { output } = this.#tools;
    output.tell([`To take this back: ${output.typed('rollback', preApplyCheckpointId)}`]);
  }

  async #discard(): Promise<End> {
    const report = await this.#remove(true);
    this.#tools.output.tell(['Discarded; the sandbox is gone.', ...savedLines(this.#given, report)]);
    return { outcome: 'discarded', code: EXIT.done, ...report };
  }

  async #remove(force: boolean): Promise<CleanupReport> {
    const report = await this.#long((limits) => this.#ran.sandbox.cleanup({ force, ...limits }));
    this.removed = true;
    return report;
  }

  async #long<T>(work: (limits: Long) => Promise<T>): Promise<T> {
    const progress = this.#tools.output.progress();
    const { onProgress } = progress;
    return await work({ signal: this.#requests.signal, onProgress }).finally(progress.end);
  }
}

/** What a shell answers after an interrupt. */
const INTERRUPTED = 130;

/** As many paths are listed where nobody pages through them. */
const LISTED = 100;

function briefly(changes: readonly Change[]): string[] {
  const rest = changes.length - LISTED;
  return [
    ...changeLines(changes.slice(0, LISTED)),
    ...(rest > 0 ? [`… and ${count(rest, 'more path')} (--json lists all)`] : []),
    changeSummary(changes),
  ];
}
