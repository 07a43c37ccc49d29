import { setFlagsFromString } from 'node:v8';

/**
 * The entry of the files into which the build bundles the hook (scripts/build.mjs).
 *
 * V8 optimizes a function after a number of bytes of its code have run. With the default, 67,584,
 * a hook at 500 activations/s is still compiling a minute after its start.
 */
setFlagsFromString('--interrupt-budget=20000');

export { run } from './run.js';
