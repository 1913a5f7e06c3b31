// Renders what napi-derive collected while the crate compiled (one JSON object a line) as TypeScript declarations.

const HEADER = '// Generated from node/src by `npm run types -w turnback`. Do not edit.\n';

/** Rust's section about errors speaks of napi; in TypeScript the return type says it. */
const tidy = (text) =>
  text
    .split('\n')
    .map((line) => line.trimEnd().replace(/^ (?!\*)/, ''))
    .join('\n')
    .replace(/\n \*\n \* # Errors[\s\S]*?(?=\n \*\/)/g, '')
    .replace(/\/\*\*\n \* ([^\n]*)\n \*\//g, '/** $1 */');

const indent = (text) =>
  text
    .split('\n')
    .map((line) => (line === '' ? line : `  ${line}`))
    .join('\n');

/** @param {string} collected @returns {string} */
export function declarations(collected) {
  const entries = collected
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line))
    .map((entry) => ({ ...entry, js_doc: tidy(entry.js_doc ?? ''), def: tidy(entry.def) }));
  const bodies = new Map();
  for (const entry of entries.filter(({ kind }) => kind === 'impl')) {
    bodies.set(entry.name, [...(bodies.get(entry.name) ?? []), entry.def]);
  }
  const blocks = entries
    .filter(({ kind }) => kind !== 'impl')
    .map(({ kind, name, js_doc, def }) => {
      switch (kind) {
        case 'interface':
          return { name, text: `${js_doc}export interface ${name} {\n${indent(def.trim())}\n}` };
        case 'struct':
          return {
            name,
            text: `${js_doc}export declare class ${name} {\n${indent([def, ...(bodies.get(name) ?? [])].join('\n').trim())}\n}`,
          };
        case 'fn':
          return { name, text: `${js_doc}export declare ${def}` };
        default:
          throw new Error(`the build collected a type of a kind that scripts/types.mjs does not know: ${kind}`);
      }
    })
    .sort((a, b) => (a.name < b.name ? -1 : 1));
  return `${HEADER}\n${blocks.map(({ text }) => text).join('\n\n')}\n`;
}
