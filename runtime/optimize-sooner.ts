import { setFlagsFromString } from 'node:v8';

/**
 * Has V8 optimize a function once 20,000 bytes of its code have run instead of 67,584: without
 * that, a hook at 500 activations/s still compiles a minute after its start. Only the V8 of Node 20
 * has this budget; those since Node 22 count calls, and optimizing sooner made their hook slower.
 * Not on the command line, where a flag that V8 does not know keeps Node from starting.
 *
 * @param v8 version, as in `process.versions.v8`
 */
export function optimizeSooner(v8: string): void {
  if (v8.startsWith('11.')) setFlagsFromString('--interrupt-budget=20000');
}
