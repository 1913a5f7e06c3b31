// The agent's turn: real shell commands that edit, create, rename and destroy. They work on whatever the tree holds.
import { stoppable, variables } from './shell.mjs';

/** @typedef {{ what: string, script: string, needs?: 'git' | 'root' | 'xattr' }} Command */
/** @typedef {import('./engine.mjs').Guarded} Guarded */
/** @typedef {import('./engine.mjs').Verdict} Verdict */

/** How many of the turn's commands are started at once. */
const TOGETHER = 2;

// Every list is in the order of the bytes of the names, so that a turn is the same each time.
const PRELUDE = `
set -uo pipefail
# pick TEST...: what the tree had before the turn, but for .git and the oddities
pick() {
  find . -path ./.git -prune -o -path './demo oddities' -prune -o -path ./agent-output -prune -o "$@" -print0 | LC_ALL=C sort -z
}
editable() { [ -w "$1" ] && [ -w "\${1%/*}" ]; }
# files N: about N ordinary files from all over the tree
files() {
  local found chosen=() step i
  mapfile -d '' -t found < <(pick -type f -size +0 -size -64k)
  step=$(( \${#found[@]} / $1 + 1 ))
  for (( i = 0; i < \${#found[@]}; i += step )); do if editable "\${found[i]}"; then chosen+=("\${found[i]}"); fi; done
  [ \${#chosen[@]} = 0 ] || printf '%s\\0' "\${chosen[@]}"
}
# the first of them, if there is one
first() { local f; IFS= read -r -d '' f < <(files 1) && printf '%s' "$f"; }
says() { printf '%s\\n' "$*"; }
`;

// The first two run at once, so neither may touch or look at what the other one does.
/** @type {Command[]} */
export const TURN = [
  {
    what: 'sed -i: edits a line in files all over the tree',
    script: `files 40 | xargs -0 -r sed -i '1s/^/edited by the agent: /'; says "$(files 40 | tr -cd '\\0' | wc -c) files"`,
  },
  {
    what: 'mkdir, >, ln, ln -s, mkfifo: creates files, folders and links',
    script: `mkdir -p agent-output/a/b/c agent-output/empty; head -c 4000000 /dev/urandom > agent-output/big
      for i in {1..300}; do printf 'generated %s\\n' $i > agent-output/a/b/file-$i; done
      printf x > agent-output/$'odd\\nname'; mkfifo agent-output/fifo; ln -s ../.. agent-output/up; ln -s "$OUTSIDE" agent-output/out
      ln 'demo oddities/large' agent-output/hard-link
      says '300 files and more'`,
  },
  {
    what: '>>: appends to files',
    script: `n=0; while IFS= read -r -d '' f; do printf 'appended by the agent\\n' >> "$f"; n=$((n+1)); done < <(files 25); says "$n files"`,
  },
  {
    what: 'dd, touch -r: changes a byte, keeps size and mtime as they were',
    script: `n=0; while IFS= read -r -d '' f; do
      touch -r "$f" "$SCRATCH/stamp"; b=X; [ "$(head -c 1 "$f" | tr '\\0' 0)" = X ] && b=Y
      printf %s "$b" | dd of="$f" bs=1 conv=notrunc status=none; touch -r "$SCRATCH/stamp" "$f"; n=$((n+1))
    done < <(files 7); says "$n files"`,
  },
  {
    what: 'mv: renames folders, overwrites a file, swaps two',
    script: `mapfile -d '' -t d < <(pick -path './*/*' -type d); n=0
      for (( i = 0; i < \${#d[@]}; i += \${#d[@]} / 3 + 1 )); do if editable "\${d[i]}" ; then mv -T "\${d[i]}" "\${d[i]%/*}/renamed-$i"; n=$((n+1)); fi; done
      mapfile -d '' -t f < <(files 9)
      if [ \${#f[@]} -ge 4 ]; then mv -f "\${f[0]}" "\${f[1]}"; mv "\${f[2]}" swap; mv "\${f[3]}" "\${f[2]}"; mv swap "\${f[3]}"; fi
      says "$n folders, 3 files"`,
  },
  {
    what: 'rm, mkdir, ln -s: a file becomes a folder, a folder a link',
    script: `mapfile -d '' -t f < <(files 5); if [ \${#f[@]} -gt 0 ]; then rm "\${f[-1]}"; mkdir -p "\${f[-1]}/inside"; printf x > "\${f[-1]}/inside/file"; fi
      rm -rf 'demo oddities/links'; ln -s "$OUTSIDE" 'demo oddities/links'; rm -f 'demo oddities/link'; printf 'a file now\\n' > 'demo oddities/link'`,
  },
  {
    what: 'ln -sfn, ln -f, cp: turns links, cuts and ties hard links',
    script: `ln -sfn /etc/hostname 'demo oddities/dangling'; cp -p 'demo oddities/three' "$SCRATCH/three"; mv "$SCRATCH/three" 'demo oddities/three'
      ln -f 'demo oddities/zero' 'demo oddities/ spaces '
      n=0; while IFS= read -r -d '' l; do if editable "$l" || [ -w "\${l%/*}" ]; then ln -sfn -- somewhere/else "$l"; n=$((n+1)); fi; done < <(pick -type l | head -z -n 5); says "$((n+3)) links"`,
  },
  {
    what: 'chmod -R, chmod: changes modes of a whole tree, drops set-id',
    script: `d=$(pick -mindepth 1 -maxdepth 1 -type d | head -z -n 2 | tail -z -n 1 | tr -d '\\0'); [ -z "$d" ] || chmod -R go-rwx,u+w -- "$d"
      chmod 0755 'demo oddities/setuid'; chmod 0777 'demo oddities/secret' 'demo oddities/read-only'; chmod 0400 'demo oddities/zero'
      # Whom modes bind could not even picture a file that nobody may read.
      [ "$(id -u)" != 0 ] || chmod 0000 'demo oddities/zero'
      while IFS= read -r -d '' f; do chmod 0600 "$f"; done < <(files 11); says "tree $d and 15 more"`,
  },
  {
    what: 'chown -R: gives trees to somebody else',
    script: `chown -R 23456:23456 'demo oddities/nested' 'demo oddities/shared'; says '2 trees'`,
    needs: 'root',
  },
  {
    what: 'touch -d: changes times of files, links, folders and the root',
    script: `while IFS= read -r -d '' f; do touch -d '1999-12-31 23:59:59.999999999' "$f"; done < <(files 13)
      touch -h -d '1980-01-01' 'demo oddities/dangling'; touch -d '1980-01-01' 'demo oddities/empty/nested' 'demo oddities' .`,
  },
  {
    what: 'truncate: empties files, stretches one, fills a hole',
    script: `while IFS= read -r -d '' f; do truncate -s 0 "$f"; done < <(files 6); truncate -s +100000 'demo oddities/large'
      head -c 100000 /dev/urandom | dd of='demo oddities/sparse' bs=65536 seek=3 conv=notrunc status=none`,
  },
  {
    what: 'setfattr: sets, changes and removes extended attributes',
    needs: 'xattr',
    script: `f=$(first)
      "$XATTR" set user.agent 'was here' "\${f:-.}"; "$XATTR" set user.color red 'demo oddities/empty'; "$XATTR" remove user.secret 'demo oddities/secret'
      "$XATTR" set user.agent root .`,
  },
  {
    what: 'git: moves HEAD to a new commit, adds and packs refs',
    script: `g() { git --git-dir=.git -c core.hooksPath=/dev/null -c core.fsmonitor=false -c commit.gpgsign=false -c user.name=agent -c user.email=agent@localhost "$@"; }
      c=$(g commit-tree 'HEAD^{tree}' -p HEAD -m 'by the agent'); g update-ref HEAD "$c"; g update-ref refs/heads/agent-was-here "$c"; g pack-refs --all; says "HEAD is $c"`,
    needs: 'git',
  },
  {
    what: 'rm -rf: destroys half of the tree, in .git as well',
    script: `chmod u+rwx 'demo oddities/read-only'; before=$(find . | wc -l)
      mapfile -d '' -t one < <(find . -mindepth 2 -maxdepth 2 ! -path './demo oddities/*' ! -path './agent-output/*' -print0 | LC_ALL=C sort -z)
      mapfile -d '' -t two < <(find . -mindepth 1 -maxdepth 1 ! -type d -print0 | LC_ALL=C sort -z)
      doomed=(); for (( i = 0; i < \${#one[@]}; i += 2 )); do doomed+=("\${one[i]}"); done
      for (( i = 0; i < \${#two[@]}; i += 2 )); do doomed+=("\${two[i]}"); done
      # Of the oddities most stay, so that the rollback has each kind of change to undo.
      doomed+=('demo oddities/sticky' 'demo oddities/fifo' 'demo oddities/read-only' 'demo oddities'/$'new\\nline')
      if [ \${#doomed[@]} -gt 0 ]; then printf '%s\\0' "\${doomed[@]}" | xargs -0 rm -rf --; fi
      says "$before paths before, $(find . | wc -l) after"`,
  },
];

/**
 * The whole turn, each command through the engine's guard: the first two at once, then one after the other.
 * @param {object} where
 * @param {import('./engine.mjs').Turn} where.turn
 * @param {string} where.scratch a folder outside for the commands' own use
 * @param {string} where.outside a folder outside that links lead to
 * @param {string} where.xattr the program that sets extended attributes
 * @param {Set<string>} where.has what of 'git', 'root', 'xattr' there is
 * @param {(command: Command, ran: Guarded) => void} onDone
 * @returns {Promise<Verdict[]>} what the guard said, in the order of the commands
 */
export async function runTurn({ turn, scratch, outside, xattr, has }, onDone) {
  const env = variables({ SCRATCH: scratch, OUTSIDE: outside, XATTR: xattr });
  const start = (/** @type {Command} */ command) =>
    stoppable((signal) => turn.run(PRELUDE + command.script, { env, signal }));
  /** @type {Verdict[]} */
  const verdicts = [];
  const done = (/** @type {Command} */ command, /** @type {Guarded} */ ran) => {
    verdicts.push(ran.verdict);
    onDone(command, ran);
  };
  const commands = TURN.filter(({ needs }) => needs === undefined || has.has(needs));
  const [together, rest] = [commands.slice(0, TOGETHER), commands.slice(TOGETHER)];
  // All settle before one's failure counts: nothing may still run when the turn is over.
  const settled = await Promise.allSettled(together.map(start));
  for (const [index, command] of together.entries()) {
    const one = settled[index];
    if (one?.status === 'rejected') throw one.reason;
    if (one) done(command, one.value);
  }
  for (const command of rest) done(command, await start(command));
  return verdicts;
}

/**
 * What is wrong with how the guard answered a turn: it has to make one checkpoint, before the first commands, for all of them.
 * @param {readonly Verdict[]} verdicts of all commands, those that were started together first
 * @param {readonly string[]} made the checkpoints that the guard has made in the store
 * @returns {string[]} each fault, in words
 */
export function guardFaults(verdicts, made) {
  /** @type {string[]} */
  const faults = [];
  const id = verdicts[0]?.checkpointId;
  if (made.length !== 1 || made[0] !== id)
    faults.push(`the store holds ${made.length} of the guard's checkpoints, not the one that it named`);
  const first = verdicts.slice(0, TOGETHER).map(({ outcome }) => outcome);
  if (first.toSorted().join() !== 'created,joined') faults.push(`the first commands were ${first.join(' and ')}`);
  for (const [index, verdict] of verdicts.entries()) {
    const name = `command ${index + 1}`;
    if (index >= TOGETHER && verdict.outcome !== 'already_covered') faults.push(`${name} was ${verdict.outcome}`);
    if (verdict.checkpointId !== id) faults.push(`${name} has another checkpoint than the first`);
    if (!verdict.protected) faults.push(`${name} was not protected: ${verdict.reason}`);
    if (verdict.late) faults.push(`${name} has a checkpoint from after the turn had begun`);
  }
  return faults;
}
