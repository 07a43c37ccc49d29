/**
 * In-process tests by default. GLEANER_TEST_REAL=1 takes the tests on real parts
 * (`*.real.test.ts`), one file at a time. GLEANER_TEST_LANE takes one of the parts below, which
 * scripts/test.mjs runs side by side.
 */
const lane = process.env.GLEANER_TEST_LANE;
const real = process.env.GLEANER_TEST_REAL === '1';

/**
 * Tests on parts of their own: a private engine, processes on free ports, containers without a
 * hook. Nothing here is managed by a hook on this host's engine.
 */
const ownParts = [
  'dist/test/{agents,broker,fuzz,kubernetes}/**/*.real.test.js',
  'dist/test/deploy/{ansible,metrics}.real.test.js',
  'dist/test/faults/{dockerd,full-disk,nats-cluster}.real.test.js',
  'dist/test/simulator/**/*.real.test.js',
  'dist/test/stock-client.real.test.js',
];
/**
 * Commands, pages, units and the dashboard, without a container, on the usual ports of `gleaner up`
 * or free ones.
 */
const commands = [
  'dist/test/{dashboard,docs}/**/*.real.test.js',
  'dist/test/cli/{embedded-nats,function-mode,functions-watch,many-functions}.real.test.js',
  'dist/test/cli/{mode-not-stored,nats-config,newer-node,start,up}.real.test.js',
  'dist/test/deploy/systemd.real.test.js',
];
const allReal = ['dist/test/**/*.real.test.js'];
const inProcess = ['dist/test/**/*.test.js', '!dist/test/**/*.real.test.js'];

/** Patterns that exclude come last, because AVA applies them to all. */
const lanes = {
  'in-process': inProcess,
  'own-parts': ownParts,
  commands,
  host: [...allReal, ...[...ownParts, ...commands].map((pattern) => `!${pattern}`)],
};

/**
 * AVA runs every file that is named, whatever `files` says, and a shell's `dist/test/cli/*.test.js`
 * names tests on real parts, too. They take minutes and need root, so they are left out.
 */
const isNamedReal = (word) => word.endsWith('.real.test.js');
if (!real && lane === undefined && process.argv.some(isNamedReal)) {
  const skipped = process.argv.filter(isNamedReal);
  process.argv = process.argv.filter((word) => !isNamedReal(word));
  const what = `${skipped.join(', ')}: run on real parts only with GLEANER_TEST_REAL=1`;
  // AVA without a name would run all.
  if (!process.argv.some((word) => word.endsWith('.test.js'))) throw new Error(what);
  console.error(`*** SKIPPED ${what} ***`);
}

/** As test/support/slowness.ts has it. */
const minutes = Math.ceil(4 * Math.max(1, Number(process.env.GLEANER_TEST_SLOWNESS ?? 1) || 1));

export default {
  files: lanes[lane] ?? (real ? allReal : inProcess),
  concurrency: real || lane !== undefined ? 1 : 2,
  timeout: `${minutes}m`,
  workerThreads: false,
  // A worker that does not end after its tests.
  require: [['./dist/test/support/worker-end.js', 30_000]],
};
