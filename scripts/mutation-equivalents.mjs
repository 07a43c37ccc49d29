/**
 * Mutants that no test can tell from the original, with the reason. `npm run mutation` leaves them
 * out of the score (in its table they are the errors). Each row: compiled file under `dist/`, code,
 * what the mutant has in its place, the line that it is in, reason.
 */
import { readFileSync } from 'node:fs';
import { relative } from 'node:path';

const EQUIVALENT = [
  {
    file: 'broker/mean-field/aggregator.js',
    line: 'if (now === this.#lastExpiryCheck)',
    code: 'now === this.#lastExpiryCheck',
    mutant: 'false',
    reason: 'saves a second search at the same time, which finds nothing',
  },
  {
    file: 'openwhisk-plugin/decision/container-state.js',
    line: 'return this.user.quota > NO_LIMIT ? this.user.quota : NO_LIMIT;',
    code: 'this.user.quota > NO_LIMIT',
    mutant: 'this.user.quota >= NO_LIMIT',
    reason: 'equal values give the same result on either branch',
  },
  {
    file: 'openwhisk-plugin/decision/container-state.js',
    line: 'windowCpu = -1;',
    code: '-1',
    mutant: '+1',
    reason: 'every start sets it before it is read',
  },
  {
    file: 'openwhisk-plugin/decision/container-state.js',
    line: 'control = false;',
    code: 'false',
    mutant: 'true',
    reason: 'every start sets it before it is read',
  },
  {
    file: 'openwhisk-plugin/decision/container-state.js',
    line: 'endCpu = micros(-1);',
    code: '-1',
    mutant: '+1',
    reason: 'the constructor resets it',
  },
  {
    file: 'openwhisk-plugin/decision/harvest-pool.js',
    line: 'if (allocation.index >= 0)',
    code: 'allocation.index >= 0',
    mutant: 'true',
    reason: 'ending what does not run changes nothing',
  },
  {
    file: 'openwhisk-plugin/decision/harvest-pool.js',
    line: 'if (extra > allocation.borrowed)',
    code: 'extra > allocation.borrowed',
    mutant: 'extra >= allocation.borrowed',
    reason: 'equal values give the same result on either branch',
  },
  {
    file: 'openwhisk-plugin/decision/harvest-pool.js',
    line: 'if (allocation.lent > 0)',
    code: 'allocation.lent > 0',
    mutant: 'allocation.lent >= 0',
    reason: 'without loans there is nothing to revoke',
  },
  {
    file: 'openwhisk-plugin/decision/harvest-pool.js',
    line: 'while (over > EPSILON && this.#loans.length > 0) {',
    code: 'over > EPSILON',
    mutant: 'over >= EPSILON',
    reason: 'an amount of exactly the smallest size counts as nothing',
  },
  {
    file: 'openwhisk-plugin/decision/harvest-pool.js',
    line: 'if (loan.amount > EPSILON)',
    code: 'loan.amount > EPSILON',
    mutant: 'loan.amount >= EPSILON',
    reason: 'an amount of exactly the smallest size counts as nothing',
  },
  {
    file: 'openwhisk-plugin/decision/harvest-pool.js',
    line: 'if (allocation.user - allocation.own - allocation.lent <= EPSILON)',
    code: 'allocation.user - allocation.own - allocation.lent <= EPSILON',
    mutant: 'allocation.user - allocation.own - allocation.lent < EPSILON',
    reason: 'an amount of exactly the smallest size counts as nothing',
  },
  {
    file: 'openwhisk-plugin/decision/headroom.js',
    line: 'return (free > 0 ? Math.floor(free) : 0);',
    code: 'free > 0',
    mutant: 'free >= 0',
    reason: 'equal values give the same result on either branch',
  },
  {
    file: 'openwhisk-plugin/decision/memory-loans.js',
    line: 'if (demand > 0) {',
    code: 'demand > 0',
    mutant: 'demand >= 0',
    reason: 'nothing is lent of nothing',
  },
  {
    file: 'openwhisk-plugin/decision/policies/faasrm/scorer.js',
    line: 'if (left < 0)',
    code: 'left < 0',
    mutant: 'left <= 0',
    reason: 'a draw at the very boundary has no probability',
  },
  {
    file: 'openwhisk-plugin/decision/policies/faasrm/faasrm-policy.js',
    line: 'for (let i = 0; i < cpus; i++)',
    code: 'i < cpus',
    mutant: 'i <= cpus',
    reason: 'what is written beyond the count is not read',
  },
  {
    file: 'openwhisk-plugin/decision/policies/faasrm/faasrm-policy.js',
    line: 'for (let i = 0; i < memories; i++)',
    code: 'i < memories',
    mutant: 'i <= memories',
    reason: 'what is written beyond the count is not read',
  },
  {
    file: 'openwhisk-plugin/decision/policies/libra-profile.js',
    line: 'if (size < this.#smallest)',
    code: 'size < this.#smallest',
    mutant: 'size <= this.#smallest',
    reason: 'equal values give the same result on either branch',
  },
  {
    file: 'openwhisk-plugin/decision/policies/libra-profile.js',
    line: 'if (size > this.#largest)',
    code: 'size > this.#largest',
    mutant: 'size >= this.#largest',
    reason: 'equal values give the same result on either branch',
  },
  {
    file: 'openwhisk-plugin/decision/policies-in-use.js',
    line: '#hasOwn = false;',
    code: 'false',
    mutant: 'true',
    reason: 'saves a look into an empty map',
  },
  {
    file: 'openwhisk-plugin/decision/payload-estimate.js',
    line: 'if (guess > 0)',
    code: 'guess > 0',
    mutant: 'guess >= 0',
    reason: 'an exponential is never 0 here',
  },
  {
    file: 'openwhisk-plugin/decision/statistics.js',
    line: 'for (let i = 0; i < RECENT; i++) {',
    code: 'i < RECENT',
    mutant: 'i <= RECENT',
    reason: 'beyond the array there is no number, which no comparison takes',
  },
  {
    file: 'openwhisk-plugin/decision/statistics.js',
    line: 'if (sample > peak)',
    code: 'sample > peak',
    mutant: 'sample >= peak',
    reason: 'equal values give the same result on either branch',
  },
  {
    file: 'openwhisk-plugin/decision/usage-window.js',
    line: 'if (busy > run.cpu.peak)',
    code: 'busy > run.cpu.peak',
    mutant: 'busy >= run.cpu.peak',
    reason: 'equal values give the same result on either branch',
  },
  {
    file: 'openwhisk-plugin/decision/usage-window.js',
    line: 'if (usage.workingSet > run.workingPeak)',
    code: 'usage.workingSet > run.workingPeak',
    mutant: 'usage.workingSet >= run.workingPeak',
    reason: 'equal values give the same result on either branch',
  },
  {
    file: 'openwhisk-plugin/decision/usage-window.js',
    line: 'if (peak > run.memory.peak)',
    code: 'peak > run.memory.peak',
    mutant: 'peak >= run.memory.peak',
    reason: 'equal values give the same result on either branch',
  },
  {
    file: 'openwhisk-plugin/decision/usage-window.js',
    line: 'if (growth > run.growth)',
    code: 'growth > run.growth',
    mutant: 'growth >= run.growth',
    reason: 'equal values give the same result on either branch',
  },
  {
    file: 'openwhisk-plugin/control/step.js',
    line: 'if (value < this.min)',
    code: 'value < this.min',
    mutant: 'value <= this.min',
    reason: 'equal values give the same result on either branch',
  },
  {
    file: 'openwhisk-plugin/control/step.js',
    line: 'if (value > this.max)',
    code: 'value > this.max',
    mutant: 'value >= this.max',
    reason: 'equal values give the same result on either branch',
  },
  {
    file: 'openwhisk-plugin/control/step.js',
    line: 'if (run.cpu.peak > this.peakCpu)',
    code: 'run.cpu.peak > this.peakCpu',
    mutant: 'run.cpu.peak >= this.peakCpu',
    reason: 'equal values give the same result on either branch',
  },
  {
    file: 'openwhisk-plugin/control/step.js',
    line: 'if (run.memory.peak > this.peakMemory)',
    code: 'run.memory.peak > this.peakMemory',
    mutant: 'run.memory.peak >= this.peakMemory',
    reason: 'equal values give the same result on either branch',
  },
  {
    file: 'openwhisk-plugin/control/step.js',
    line: 'if (run.cpu.demand > this.demandCpu)',
    code: 'run.cpu.demand > this.demandCpu',
    mutant: 'run.cpu.demand >= this.demandCpu',
    reason: 'equal values give the same result on either branch',
  },
  {
    file: 'openwhisk-plugin/control/step.js',
    line: 'if (run.memory.demand > this.demandMemory)',
    code: 'run.memory.demand > this.demandMemory',
    mutant: 'run.memory.demand >= this.demandMemory',
    reason: 'equal values give the same result on either branch',
  },
  {
    file: 'openwhisk-plugin/control/observation.js',
    line: 'const number = (value) => (Number.isFinite(value) && value > 0 ? value : 0);',
    code: 'value > 0',
    mutant: 'value >= 0',
    reason: 'equal values give the same result on either branch',
  },
  {
    file: 'openwhisk-plugin/control/activation-tracker.js',
    line: 'while (newer !== null && newer.older !== activation)',
    code: 'newer !== null',
    mutant: 'true',
    reason: 'an activation is always in its container’s list',
  },
];

/** GLEANER_MUTATION_EVERY=5 runs each fifth mutant: a sample, where all take too long. */
const EVERY = Number(process.env.GLEANER_MUTATION_EVERY ?? 1);

/** The code at a mutant's place, in one line, and the whole line that it begins in. */
function codeAt(source, { start, end }) {
  const lines = source.split('\n').slice(start.line, end.line + 1);
  const line = lines[0].trim();
  lines.push(lines.pop().slice(0, end.column));
  lines[0] = lines[0].slice(start.column);
  return { line, code: lines.join('\n') };
}

class Equivalents {
  async init() {}

  async check(mutants) {
    return Object.fromEntries(
      mutants.map(({ id, fileName, location, replacement }) => {
        if (Number(id) % EVERY > 0) return [id, { status: 'compileError', reason: 'not sampled' }];
        const { line, code } = codeAt(readFileSync(fileName, 'utf8'), location);
        const file = relative('dist', fileName);
        const row = EQUIVALENT.find(
          (one) =>
            file.endsWith(one.file) &&
            one.line === line &&
            one.code === code &&
            one.mutant === replacement,
        );
        if (row === undefined) return [id, { status: 'passed' }];
        return [id, { status: 'compileError', reason: `equivalent: ${row.reason}` }];
      }),
    );
  }
}

/** Log lines decide nothing. */
const logCalls = {
  shouldIgnore({ node }) {
    const isLog =
      node.type === 'CallExpression' &&
      node.callee.type === 'MemberExpression' &&
      node.callee.object.name === 'logger';
    return isLog ? 'a log line' : undefined;
  },
};

export const strykerPlugins = [
  { kind: 'Checker', name: 'equivalents', injectableClass: Equivalents },
  { kind: 'Ignore', name: 'log-calls', value: logCalls },
];
