// npm start [-- DIR]: builds what is missing, then runs the demo.
import { spawn } from 'node:child_process';
import { join, resolve } from 'node:path';
import { cCompiler, checkNode, checkRust, Trouble } from './lib/tools.mjs';

// npm runs us in the root of the repository; DIR counts from where the user typed the command.
const from = process.env.INIT_CWD ?? process.cwd();

/** @param {string[]} args @returns {Promise<number>} the demo's exit code */
function demo(args) {
  return new Promise((done) => {
    const child = spawn(process.execPath, [join('demo', 'run.mjs'), ...args], { stdio: 'inherit' });
    // The demo cleans up after itself on a signal: wait for that.
    for (const signal of /** @type {const} */ (['SIGINT', 'SIGTERM', 'SIGHUP'])) {
      process.removeAllListeners(signal);
      process.on(signal, () => signal !== 'SIGINT' && child.kill(signal));
    }
    child.on('close', (code) => done(code ?? 1));
  });
}

try {
  checkNode();
  process.chdir(join(import.meta.dirname, '..'));
  const args = process.argv.slice(2).map((arg) => (arg.startsWith('-') ? arg : resolve(from, arg)));
  if (args.some((arg) => arg === '-h' || arg === '--help')) {
    process.exitCode = await demo(args);
  } else if ((await demo([...args, '--check'])) !== 0) {
    process.exitCode = 2; // said before minutes of building
  } else {
    if (process.platform !== 'linux') {
      throw new Trouble(
        `the demo needs Linux, where the snapshot engine runs (this is ${process.platform}); the policy layer works everywhere, see README.md.`,
      );
    }
    checkRust();
    cCompiler();
    const { addon, packages } = await import('./lib/plan.mjs');
    const { createSteps } = await import('./lib/steps.mjs');
    const steps = createSteps('Turnback: build what is missing, then run the demo', 2);
    const built = (await steps.run(packages())) && (await steps.run(addon()));
    if (built) process.stdout.write('\n');
    process.exitCode = built ? await demo(args) : steps.finish({ tests: false });
  }
} catch (error) {
  if (!(error instanceof Trouble)) throw error;
  console.error(`npm start: ${error.message}`);
  process.exitCode = 1;
}
