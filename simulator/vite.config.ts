import { defineConfig } from 'vite';

export default defineConfig({
  // Relative addresses: the built page works under any path.
  base: './',
  build: { target: 'es2022', modulePreload: { polyfill: false }, assetsInlineLimit: 0, reportCompressedSize: false },
  worker: { format: 'es' },
});
