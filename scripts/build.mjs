// npm run build: builds both packages and the simulator's page, for developers.
import { join } from 'node:path';
import { cCompiler, checkNode, checkRust, Trouble } from './lib/tools.mjs';

try {
  checkNode();
  process.chdir(join(import.meta.dirname, '..'));
  checkRust();
  cCompiler();
  const { addon, packages, page, policy } = await import('./lib/plan.mjs');
  const { createSteps } = await import('./lib/steps.mjs');
  const steps = createSteps('Turnback: build the packages', 4);
  await steps.run(packages());
  await steps.run(addon());
  await steps.run(policy());
  await steps.run(page());
  process.exitCode = steps.finish({ tests: false });
  if (process.exitCode === 0) console.log('Try: npx turnback --version');
} catch (error) {
  if (!(error instanceof Trouble)) throw error;
  console.error(`npm run build: ${error.message}`);
  process.exitCode = 1;
}
