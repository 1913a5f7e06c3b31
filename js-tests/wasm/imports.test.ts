/// <reference lib="dom" />
// P1: the modules get nothing but what wasm-bindgen's own glue gives them, and the glue and all that starts it import nothing but each
// other: no clock, no randomness, no I/O.
import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { text as policy } from '../../wasm/pkg/policy_bytes.js';
import { text as readOnly } from '../../wasm/pkg/read_only_bytes.js';

const read = (path: string) => readFileSync(new URL(`../../wasm/${path}`, import.meta.url), 'utf8');

/** As wasm/lib/start.ts takes the bytes apart. */
const moduleOf = (text: string) =>
  new WebAssembly.Module(Uint8Array.from(text, (character) => character.charCodeAt(0) - 0x20 - 14));

describe.each([
  ['policy', policy],
  ['read_only', readOnly],
])('%s', (name, text) => {
  const imports = WebAssembly.Module.imports(moduleOf(text));

  it("imports functions of its own glue only, under wasm-bindgen's names", () => {
    expect(imports.length).toBeGreaterThan(0);
    for (const one of imports) {
      expect(one).toMatchObject({ module: `./${name}_bg.js`, kind: 'function' });
      expect(one.name).toMatch(/^__(wbg|wbindgen)_/);
    }
  });
  it('none of these is a clock, a source of randomness or I/O', () => {
    const glue = read(`pkg/${name}_bg.js`);
    const words =
      /\b(Date|performance|Math\.random|crypto|fetch|XMLHttpRequest|process|require|setTimeout|queueMicrotask)\b/;
    // Not in comments, which are whole lines in what is generated.
    const code = glue.split('\n').filter((line) => !/^\s*(\*|\/\*|\/\/)/.test(line));
    expect(code.filter((line) => words.test(line))).toStrictEqual([]);
    expect(code.filter((line) => /^\s*import\b|\bimport\(/.test(line))).toStrictEqual([]);
  });
});

it('the package imports nothing but itself', () => {
  const built = readdirSync(new URL('../../wasm/dist/', import.meta.url), { recursive: true, encoding: 'utf8' });
  const files = built.filter((file) => file.endsWith('.js'));
  expect(files.length).toBeGreaterThan(20);
  for (const file of files) {
    const from = [...read(`dist/${file}`).matchAll(/^(?:import|export)\b[^'"`]*?from\s*['"]([^'"]+)['"]/gms)];
    expect(
      from.map(([, specifier]) => specifier).filter((specifier) => !specifier?.startsWith('.')),
      file,
    ).toStrictEqual([]);
  }
});
