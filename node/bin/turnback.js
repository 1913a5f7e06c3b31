#!/usr/bin/env node
// Stands outside dist/, so that npm can link it before the first build.
import { main } from '../dist/cli.js';

process.exitCode = await main(process.argv.slice(2));
