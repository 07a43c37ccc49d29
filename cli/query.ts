/** The entry of the file into which the build bundles the queries (scripts/build.mjs). */
export { run } from './run.js';
