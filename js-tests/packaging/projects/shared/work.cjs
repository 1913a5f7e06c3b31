// What agents do to a workspace.
const { chmodSync, existsSync, mkdirSync, rmSync, symlinkSync, writeFileSync } = require('node:fs');
const { join } = require('node:path');

/** Changes of every kind. */
function upset(root) {
  rmSync(join(root, 'sub'), { recursive: true });
  writeFileSync(join(root, 'sub'), 'a file now\n');
  writeFileSync(join(root, 'a.txt'), 'changed\n');
  chmodSync(join(root, 'run.sh'), 0o600);
  mkdirSync(join(root, 'new'));
  symlinkSync('a.txt', join(root, 'new', 'link'));
}

/** Two tests that run at the same time: each sees only what it wrote itself. */
function pair() {
  const arrived = [];
  const both = new Promise((resolve) => arrived.push(resolve));
  let count = 0;
  return async (name, root) => {
    writeFileSync(join(root, name), name);
    count += 1;
    if (count === 2) arrived[0]();
    await both;
    const other = name === 'first' ? 'second' : 'first';
    if (existsSync(join(root, other))) throw new Error(`${name} sees what ${other} wrote`);
  };
}

module.exports = { upset, pair };
