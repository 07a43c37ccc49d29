/** Unit and in-process tests. The tests on real parts (`*.real.test.ts`) run apart and serially: scripts/test.mjs. */
const real = process.env.GLEANER_TEST_REAL === '1';

export default {
  files: real
    ? ['dist/test/**/*.real.test.js']
    : ['dist/test/**/*.test.js', '!dist/test/**/*.real.test.js'],
  concurrency: real ? 1 : 2,
  timeout: '4m',
  workerThreads: false,
};
