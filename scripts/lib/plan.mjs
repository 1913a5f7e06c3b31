// The building steps that the three commands share, each with what tells whether it is up to date.
import { join } from 'node:path';
import { stamp } from './stamps.mjs';
import { npm, toolchain } from './tools.mjs';

/** @typedef {import('./steps.mjs').Step} Step */

const STAMPS = join('target', 'stamps');
const WORKSPACES = ['node', 'wasm', 'js-tests', 'examples', 'simulator'];
const POLICY = ['core', 'risk', 'wasm', 'xtask'];
const CARGO = ['Cargo.toml', 'Cargo.lock'];
const SCRIPTS = ['tsconfig.base.json', 'package-lock.json'];

/** Fetches the npm packages. Remembered inside node_modules, so that deleting the folder is noticed. @returns {Step} */
export const packages = () => ({
  name: 'npm packages',
  command: [...npm().flat(), 'ci', '--no-audit', '--no-fund'],
  stamp: stamp({
    file: join('node_modules', '.turnback-stamp'),
    inputs: ['package-lock.json', 'package.json', ...WORKSPACES.map((dir) => join(dir, 'package.json'))],
    extra: `${process.version} ${process.platform} ${process.arch}`,
    present: ['node_modules'],
  }),
});

/** The native addon and the TypeScript of the package `turnback`. @returns {Step} */
export const addon = () => ({
  name: 'package turnback',
  command: [...npm().flat(), 'run', 'build', '-w', 'turnback'],
  needs: ['npm packages'],
  stamp: stamp({
    file: join(STAMPS, 'turnback'),
    inputs: ['core', 'engine', 'risk', 'node', join('wasm', 'lib', 'shell'), ...CARGO, ...SCRIPTS],
    extra: toolchain(),
    outputs: [join('node', 'turnback.node'), join('node', 'dist')],
  }),
});

/** The wasm module and the TypeScript of the package `turnback-policy`. @returns {Step} */
export const policy = () => ({
  name: 'package turnback-policy',
  command: [...npm().flat(), 'run', 'build', '-w', 'turnback-policy'],
  needs: ['npm packages'],
  stamp: stamp({
    file: join(STAMPS, 'turnback-policy'),
    inputs: [...POLICY, ...CARGO, ...SCRIPTS],
    extra: toolchain(),
    outputs: [join('wasm', 'pkg'), join('wasm', 'dist')],
  }),
});

/** The simulator's page, in static files. @returns {Step} */
export const page = () => ({
  name: 'simulator page',
  command: [...npm().flat(), 'run', 'build', '-w', 'turnback-simulator'],
  needs: ['package turnback-policy'],
  stamp: stamp({
    file: join(STAMPS, 'simulator'),
    inputs: ['simulator', ...POLICY, ...CARGO, ...SCRIPTS],
    extra: toolchain(),
    outputs: [join('simulator', 'dist')],
  }),
});
