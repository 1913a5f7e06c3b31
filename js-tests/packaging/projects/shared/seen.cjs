// What a test of a project found, told to the test that started its runner: a line of JSON each, in the file that RECORD names.
const { appendFileSync, lstatSync, readdirSync, readFileSync } = require('node:fs');
const { join } = require('node:path');

/** Every path of a tree with what a rollback has to bring back. */
function picture(root) {
  const seen = {};
  const look = (path, name) => {
    const { mode, mtimeNs } = lstatSync(path, { bigint: true });
    const isDirectory = lstatSync(path).isDirectory();
    seen[name] = `${mode.toString(8)} ${mtimeNs} ${isDirectory ? '' : readFileSync(path, 'utf8')}`;
    if (isDirectory) for (const entry of readdirSync(path).sort()) look(join(path, entry), `${name}/${entry}`);
  };
  look(root, '.');
  return seen;
}

/** Records what a test's sandbox is like as it begins. */
function begins(file, test, sandbox) {
  const { path, mechanism } = sandbox;
  const line = { file, test, path, mechanism, pid: process.pid, tree: picture(path) };
  appendFileSync(process.env.RECORD, `${JSON.stringify(line)}\n`);
}

module.exports = { picture, begins };
