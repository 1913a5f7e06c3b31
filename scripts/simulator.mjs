// npm run simulator [-- --port N]: builds the simulator's page if needed, and serves it on this machine.
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { serve } from './lib/serve.mjs';
import { checkNode, checkRust, Trouble } from './lib/tools.mjs';

const PORT = 4173;

/** @param {string | undefined} text @returns {number | undefined} */
function portOf(text) {
  if (text === undefined) return undefined;
  const port = Number(text);
  if (!/^\d+$/.test(text) || port > 65_535)
    throw new Trouble(`--port ${text} is no port: pass a number from 0 to 65535.`);
  return port;
}

/** @param {string} root @param {number | undefined} wanted */
async function served(root, wanted) {
  try {
    return await serve(root, { port: wanted ?? PORT });
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : undefined;
    // A port that somebody asked for is that one or none; ours is only the first to be tried.
    if (code === 'EADDRINUSE' && wanted === undefined) return serve(root);
    if (code === 'EADDRINUSE') throw new Trouble(`port ${wanted} is in use: choose another, or leave --port out.`);
    if (code === 'EACCES') throw new Trouble(`port ${wanted} is not allowed: choose one above 1023.`);
    throw error;
  }
}

try {
  checkNode();
  const { values } = parseArgs({ options: { port: { type: 'string' } } });
  const port = portOf(values.port);
  process.chdir(join(import.meta.dirname, '..'));
  checkRust();
  const { packages, page, policy } = await import('./lib/plan.mjs');
  const { createSteps } = await import('./lib/steps.mjs');
  const steps = createSteps("Turnback: build the simulator's page if needed, and serve it", 3);
  const built = (await steps.run(packages())) && (await steps.run(policy())) && (await steps.run(page()));
  if (built) {
    const server = await served(join(process.cwd(), 'simulator', 'dist'), port);
    console.log(`\nThe simulator is at ${server.url}\nCtrl-C ends it.`);
    for (const signal of /** @type {const} */ (['SIGINT', 'SIGTERM', 'SIGHUP'])) {
      process.removeAllListeners(signal);
      process.once(signal, () => void server.close());
    }
  } else {
    process.exitCode = steps.finish({ tests: false });
  }
} catch (error) {
  const misused = error instanceof TypeError && 'code' in error && String(error.code).startsWith('ERR_PARSE_ARGS');
  if (!(error instanceof Trouble) && !misused) throw error;
  console.error(`npm run simulator: ${error.message}`);
  process.exitCode = 1;
}
