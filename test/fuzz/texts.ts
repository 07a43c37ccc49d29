import { readFileSync } from 'node:fs';
import { stringify } from 'yaml';
import { ConfigError, loadConfig } from '../../config/index.js';
import { importAzure2019 } from '../../simulator/workload/azure-2019.js';
import { importAzure2021 } from '../../simulator/workload/azure-2021.js';
import { TraceError, type Workload } from '../../simulator/workload/index.js';
import { parseWorkload, WorkloadError } from '../../simulator/workload/workload.js';
import { type FuzzTarget, must, mustBeFinite } from './fuzz.js';
import type { Mutator } from './mutator.js';

const example = readFileSync('config/gleaner.example.yaml', 'utf8');
/** The example's keys as text of their own: a section and some of its lines, each of them valid. */
const SECTIONS = example
  .replace(/^#.*\n/gm, '')
  .split(/\n(?=[a-zA-Z]+:)/)
  .map((section) =>
    section.split('\n').filter((line) => line.trim() !== '' && !line.trim().startsWith('#')),
  );
const WORDS = [
  '&a',
  '*a',
  '!!js/function',
  '!!binary',
  '- x',
  '? y',
  '{',
  '}',
  '[',
  ']',
  '|',
  '>',
  '"',
  '~',
  '.nan',
  '.inf',
  '-.inf',
  '0x10',
  '1e309',
  'null',
  'true',
  '<<',
  'mode',
  'enforce',
  '2026-11-28',
  '%YAML',
  '---',
  '...',
];

function section(m: Mutator): string {
  const [title = '', ...lines] = m.pick(SECTIONS);
  return [title, ...lines.filter(() => m.chance(0.4))].join('\n');
}

/** The configuration file. */
export const yaml: FuzzTarget = {
  name: 'yaml',
  make(m) {
    const text = [section(m), section(m)].slice(0, 1 + m.random.below(2)).join('\n');
    return Buffer.from(m.chance(0.1) ? text : m.text(text, WORDS));
  },
  check(input) {
    try {
      const { config } = loadConfig({
        path: 'gleaner.yaml',
        readFile: () => Buffer.from(input).toString('utf8'),
        env: {},
      });
      mustBeFinite(config, 'config');
      return 'accepted';
    } catch (error) {
      if (!(error instanceof ConfigError)) throw error;
      must(error.problems.length > 0, 'an error names a problem');
      for (const { source, message } of error.problems)
        must(
          source === 'gleaner.yaml' && message.length > 0 && message.length < 1000,
          `a problem says where: ${source} ${message}`,
        );
      must(
        error.problems.some(({ line, path }) => line !== undefined || path !== ''),
        'one of them has a line or a key',
      );
      return error.code;
    }
  },
};

/** Three functions; of the minutes, a column each, the first ten are enough to damage. */
const DAY = (table: string): string =>
  readFileSync(`test/data/azure-2019-sample/exp_sim_${table}_traces_0.csv`, 'utf8')
    .split('\n')
    .slice(0, 4)
    .map((line) => (table === 'invocation' ? line.split(',').slice(0, 12).join(',') : line))
    .join('\n');
const tables = {
  invocations: DAY('invocation'),
  memory: DAY('memory'),
  durations: DAY('duration'),
};
const CALLS =
  'app,func,end_timestamp,duration\na,f,10.5,0.25\na,g,11,2\nb,f,70.125,60\na,f,71,0.001\n';
const CELLS = [
  '',
  '-1',
  '1e9',
  '1e308',
  '1e309',
  'NaN',
  'Infinity',
  '0x1',
  ' 1',
  '1 ',
  '"1"',
  '1;2',
  ',',
  ',,',
  '\ufeff',
  'http',
  '18446744073709551616',
  '0.1',
];
const { workload: imported } = importAzure2021({ name: 'calls', content: CALLS }, { name: 'w' });
const WORKLOAD = JSON.stringify(imported);
const WORKLOAD_YAML = stringify(imported);

const inputOf = (which: number, content: Uint8Array): Uint8Array =>
  Buffer.concat([Uint8Array.of(which), content]);

/**
 * Calls, memory and durations of one day of 2019, one table of 2021, or Gleaner's own format, as
 * JSON and as YAML; by the first byte.
 */
export const csv: FuzzTarget = {
  name: 'csv',
  make(m) {
    const which = m.random.below(5);
    if (which === 4 && m.chance(0.5))
      return inputOf(which, m.jsonBytes(m.json(JSON.parse(WORKLOAD))));
    const text = [tables.invocations, tables.memory, tables.durations, CALLS, WORKLOAD_YAML][
      which
    ]!;
    return inputOf(
      which,
      Buffer.from(m.chance(0.1) ? text : m.text(text, which === 4 ? WORDS : CELLS)),
    );
  },
  check(input) {
    const which = input[0]! % 5;
    const content = input.subarray(1);
    const table = (n: number, name: 'invocations' | 'memory' | 'durations') => ({
      name,
      content: n === which ? content : tables[name],
    });
    try {
      let workload: Workload;
      if (which === 4) workload = parseWorkload(Buffer.from(content).toString('utf8'));
      else if (which === 3)
        ({ workload } = importAzure2021({ name: 'calls', content }, { name: 'w' }));
      else {
        const files = {
          invocations: table(0, 'invocations'),
          memory: table(1, 'memory'),
          durations: table(2, 'durations'),
        };
        ({ workload } = importAzure2019(files, { name: 'w' }));
      }
      mustBeFinite(workload, 'workload');
      must(workload.functions.length > 0, 'a workload has functions');
      return 'accepted';
    } catch (error) {
      if (!(error instanceof TraceError) && !(error instanceof WorkloadError)) throw error;
      must(
        error.message.length > 0 && error.message.length < 5000,
        `an error of bounded length, not ${error.message.length}`,
      );
      if (error instanceof TraceError)
        must(
          /^(invocations|memory|durations|calls)\b/.test(error.message),
          `it names the file: ${error.message}`,
        );
      return error.code;
    }
  },
};
