import { defineConfig } from 'vitest/config';

// Its own, so that none further up counts.
export default defineConfig({});
