/**
 * In-process tests by default. GLEANER_TEST_REAL=1 takes the tests on real parts
 * (`*.real.test.ts`), one file at a time; GLEANER_TEST_LANE takes a half of them, so that
 * scripts/test.mjs can run both halves side by side.
 */
const real = process.env.GLEANER_TEST_REAL === '1';
const lane = process.env.GLEANER_TEST_LANE;

/** Tests that start only processes of their own on free ports: no engine, bridge or cgroup. */
const ownParts = [
  'dist/test/agents/**/*.real.test.js',
  'dist/test/broker/**/*.real.test.js',
  'dist/test/cli/{mode-not-stored,nats-config}.real.test.js',
  'dist/test/dashboard/*.real.test.js',
];
/** As test/support/slowness.ts has it. */
const minutes = Math.ceil(4 * Math.max(1, Number(process.env.GLEANER_TEST_SLOWNESS ?? 1) || 1));
const without = (patterns) => patterns.map((pattern) => `!${pattern}`);

const lanes = {
  'own-parts': ownParts,
  host: ['dist/test/**/*.real.test.js', ...without(ownParts)],
};

export default {
  files: real
    ? (lanes[lane] ?? ['dist/test/**/*.real.test.js'])
    : ['dist/test/**/*.test.js', '!dist/test/**/*.real.test.js'],
  concurrency: real ? 1 : 2,
  timeout: `${minutes}m`,
  workerThreads: false,
};
