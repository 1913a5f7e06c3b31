/**
 * Node's own modules, each when it is used: an `import` of `node:fs` alone loads all of its streams, which takes longer than an
 * import of this whole package (W9). In the library no other module imports these; the command line may.
 */
export const node = {
  get buffer() {
    return process.getBuiltinModule('node:buffer');
  },
  get childProcess() {
    return process.getBuiltinModule('node:child_process');
  },
  get crypto() {
    return process.getBuiltinModule('node:crypto');
  },
  get diagnosticsChannel() {
    return process.getBuiltinModule('node:diagnostics_channel');
  },
  get fs() {
    return process.getBuiltinModule('node:fs');
  },
  get net() {
    return process.getBuiltinModule('node:net');
  },
  get os() {
    return process.getBuiltinModule('node:os');
  },
  get test() {
    return process.getBuiltinModule('node:test');
  },
  get util() {
    return process.getBuiltinModule('node:util');
  },
};
