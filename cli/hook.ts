/** The entry of the files into which the build bundles the hook (scripts/build.mjs). */
export { run } from './run.js';
