/**
 * `npm run mutation`: mutants of the code that decides. The compiled files are mutated, so that a
 * mutant needs no build. GLEANER_MUTATION names one part, `ci`, or one file below dist.
 */
const PARTS = {
  decision: 'dist/openwhisk-plugin/decision/**/*.js',
  control: 'dist/openwhisk-plugin/control/**/*.js',
  'mean-field': 'dist/broker/mean-field/**/*.js',
  'life-cycle': 'dist/agents/aware/life-cycle/**/*.js',
  ppo: 'dist/agents/ppo/**/*.js',
};
/** The safeguard and the loans: two minutes, for CI. */
const CI = [
  'dist/openwhisk-plugin/decision/safeguard.js',
  'dist/openwhisk-plugin/decision/memory-loans.js',
];

const chosen = process.env.GLEANER_MUTATION ?? 'all';
const mutate =
  chosen === 'ci' ? CI : chosen === 'all' ? Object.values(PARTS) : [PARTS[chosen] ?? chosen];

export default {
  mutate: [...mutate, '!dist/**/index.js', '!dist/**/*thread*.js'],
  plugins: ['./scripts/mutation-runner.mjs', './scripts/mutation-equivalents.mjs'],
  testRunner: 'ava',
  coverageAnalysis: 'perTest',
  checkers: ['equivalents'],
  ignorers: ['log-calls'],
  ignorePatterns: [
    '**/*',
    '!dist/**',
    '!scripts/**',
    '!package.json',
    '!ava.config.js',
    '!agents/**/shipped/**',
    '!simulator/workload/shipped/**',
    '!config/*.yaml',
  ],
  // Texts decide nothing.
  mutator: { excludedMutations: ['StringLiteral', 'ObjectLiteral'] },
  concurrency: 2,
  // The runner ends loops and slow mutants by hits and by CPU time. Wall-clock time would count
  // mutants that a busy machine has not finished as detected.
  timeoutMS: 300_000,
  reporters: ['progress-append-only', 'clear-text', 'json'],
  jsonReporter: { fileName: 'coverage/mutation.json' },
  thresholds: { high: 90, low: 85, break: 85 },
  tempDirName: '.stryker-tmp',
  cleanTempDir: 'always',
  disableTypeChecks: false,
  allowConsoleColors: false,
};
