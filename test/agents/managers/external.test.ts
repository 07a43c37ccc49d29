import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { loadExternalManager, managerFile } from '../../../agents/managers/index.js';
import { ManagerModuleError } from '../../../agents/managers/module-path.js';
import { targetSchema } from '../../../broker/messages/index.js';
import {
  type Bytes,
  type Millicores,
  type Millis,
  mebibytes,
  millis,
  SeededRandom,
} from '../../../config/index.js';
import { blocksOf } from '../../docs/pages.js';
import { observation } from '../../support/observations.js';
import { temporaryFolder } from '../../support/temporary-folder.js';

const folder = temporaryFolder('manager');
const settings = {
  cap: { cpu: 4000 as Millicores, memory: mebibytes(1024) },
  preset: 'default' as const,
  seed: 1,
};
const now = 1000 as Millis;
let files = 0;

function written(text: string): string {
  const file = join(folder, `m${files++}.mjs`);
  writeFileSync(file, text);
  return file;
}

/**
 * On a busy machine an answer may be slow, so the limit is high unless a test is about it.
 */
async function loaded(
  t: ExecutionContext,
  text: string,
  { answer = 60_000, restart = 60_000 } = {},
) {
  const times = { answer: millis(answer), restart: millis(restart) };
  const { manager, close } = await loadExternalManager(written(text), settings, undefined, times);
  t.teardown(close);
  return manager;
}

/** A module whose manager has these members besides what every one needs. */
const module = (members: string): string =>
  `export default () => ({ name: 'custom', initialState: () => ({ n: 0 }), phase: () => 'managing',
     decide: (state) => ({ state, decision: { actions: [0, 0, 0] } }), ${members} });`;

const view = () => ({
  observation: observation({
    user: { cpu: 1000 as Millicores, memory: mebibytes(256), shares: 256 },
  }),
  features: [0, 0, 0, 0, 0, 0],
  others: null,
  price: null,
  random: new SeededRandom(7),
});

test.serial('the documented example is a manager and decides as documented', async (t) => {
  const example = blocksOf('docs/adding-a-manager.md').find(({ language }) => language === 'js')!;
  const manager = await loaded(t, example.text);
  t.is(manager.name, 'half-more');
  const seen = view();
  const peak = { cpu: 300 as Millicores, memory: 1 as Bytes };
  const first = manager.decide(
    manager.initialState('/guest/a'),
    { ...seen, observation: { ...seen.observation, peak } },
    now,
  );
  // 1.5 x 300
  t.deepEqual(first.decision, { cpu: 450, actions: [0, 0, 0] });
  const busy = { ...seen.observation, peak: { ...peak, cpu: 900 as Millicores } };
  const second = manager.decide(first.state, { ...seen, observation: busy }, now);
  t.is(Number(second.decision.cpu), 1000, 'the user’s');
  t.is(manager.phase(second.state), 'managing');
  t.is(manager.saveState, undefined);
});

test.serial(
  'state passes from step to step and between hosts; randomness is the host’s',
  async (t) => {
    const text = module(`
    decide: ({ n }, { random }) => ({
      state: { n: n + 1 },
      decision: { weightFactor: 1 + random.next(), actions: [0, 0, 1] },
      reward: n,
    }),
    about: ({ n }) => 'step ' + n,
    saveState: ({ n }) => ({ n }),
    loadState: (fn, saved) => saved.n > 0 ? saved : null,
    retrain: () => ({ n: 0 }),`);
    const manager = await loaded(t, text);
    const step = (state: unknown) => manager.decide(state, view(), now);
    const two = step(step(manager.initialState('/a/b')).state);
    t.is(two.reward, 1);
    t.is(manager.about?.(two.state), 'step 2');
    const saved = manager.saveState?.(two.state, now);
    t.deepEqual(saved, { n: 2 });
    t.is(manager.about?.(manager.loadState?.('/a/b', saved, now)), 'step 2');
    t.is(manager.loadState?.('/a/b', { n: 0 }, now), null);
    t.is(manager.loadState?.('/a/b', null, now), null, 'it throws there');
    t.is(manager.about?.(manager.retrain?.(two.state)), 'step 0');
    t.is(
      step(manager.initialState('/a/b')).decision.weightFactor,
      step(manager.initialState('/a/c')).decision.weightFactor,
    );
  },
);

test.serial(
  'numbers out of range are clipped, so that hooks accept the whole target',
  async (t) => {
    // The ranges of the message: factors 1/64 to 64, whole limits of 1 to 500 activations.
    for (const [given, expected] of [
      [
        { weightFactor: 1000, concurrency: 1.5 },
        { weightFactor: 64, concurrency: 1 },
      ],
      [
        { weightFactor: 1e-6, concurrency: 0.2 },
        { weightFactor: 1 / 64, concurrency: 1 },
      ],
      [
        { weightFactor: 2, concurrency: 9000 },
        { weightFactor: 2, concurrency: 500 },
      ],
    ] as const) {
      const decision = JSON.stringify({ cpu: 450, ...given, actions: [0, 0, 0] });
      const manager = await loaded(
        t,
        module(`decide: (state) => ({ state, decision: ${decision} }),`),
      );
      const decided = manager.decide(manager.initialState('/guest/a'), view(), now).decision;
      t.deepEqual(decided, { cpu: 450, ...expected, actions: [0, 0, 0] });
      const { cpu, weightFactor, concurrency } = targetSchema.shape;
      t.true(cpu.safeParse(decided.cpu).success);
      t.true(weightFactor.safeParse(decided.weightFactor).success);
      t.true(concurrency.safeParse(decided.concurrency).success);
    }
  },
);

for (const [what, text, said] of [
  ['does not parse', 'export default {', /Unexpected|Invalid/],
  ['throws', 'throw new Error("no luck")', /no luck/],
  ['ends the process', 'process.exit(0)', /its thread ended/],
  ['exports nothing', 'export const manager = 1;', /no default export that is a function/],
  ['returns nothing', 'export default () => null;', /returns no manager object/],
  [
    'has a name of ours',
    module("name: 'greedy'"),
    /'greedy' is that of a manager of Gleaner's own/,
  ],
  ['has no name', module("name: 'Bad Name'"), /`name` must be/],
  ['cannot decide', module('decide: 5'), /`decide` must be a function/],
  [
    'has half of a pair',
    module('saveState: () => null'),
    /`saveState` and `loadState` need each other/,
  ],
] as const)
  test.serial(`a module that ${what} is refused at the start, with the reason`, async (t) => {
    const file = written(text);
    const error = await t.throwsAsync(loadExternalManager(file, settings), {
      instanceOf: ManagerModuleError,
    });
    t.true(error.message.includes(file), error.message);
    t.regex(error.message, said);
  });

for (const [what, members, said] of [
  ['throws', 'decide: () => { throw new Error("no luck") }', /no luck/],
  ['never returns', 'decide: () => { for (;;); }', /no answer within 500 ms/],
  ['ends the process', 'decide: () => process.exit(1)', /no answer within 500 ms/],
  ['promises', 'decide: async () => ({})', /decided\.decision/],
  [
    'answers nonsense',
    "decide: (state) => ({ state, decision: { cpu: 'all', actions: [0, 0, 0] } })",
    /decided\.decision\.cpu/,
  ],
  [
    'returns an unknown member',
    'decide: (state) => ({ state, decision: { cpus: 1, actions: [0, 0, 0] } })',
    /cpus/,
  ],
  [
    'keeps what cannot be copied',
    'decide: () => ({ state: () => 1, decision: { actions: [0, 0, 0] } })',
    /plain data only/,
  ],
  [
    'fills its memory',
    'decide: () => { const all = []; for (;;) all.push(new Array(1e6).fill(all.length)); }',
    /no answer within 500 ms|no answer/,
  ],
] as const)
  test.serial(`a module that ${what} costs a decision, but not the host`, async (t) => {
    const manager = await loaded(
      t,
      module(members),
      /500/.test(said.source) ? { answer: 500 } : {},
    );
    const state = manager.initialState('/guest/a');
    const error = t.throws(() => manager.decide(state, view(), now), {
      instanceOf: ManagerModuleError,
    });
    t.regex(error.message, said);
    t.is(manager.phase(state), 'managing');
  });

test.serial('a module that fails between two decisions is restarted', async (t) => {
  const text = `setTimeout(() => Promise.reject(new Error('later')), 50);\n${module('')}`;
  const manager = await loaded(t, text, { answer: 500, restart: 1 });
  const state = manager.initialState('/guest/a');
  const answers = new Set<string>();
  const until = performance.now() + 20_000;
  // It decides, its thread ends, it fails, and a new thread decides.
  for (const wanted of ['decided', 'failed', 'decided']) {
    for (answers.clear(); !answers.has(wanted) && performance.now() < until; ) {
      try {
        manager.decide(state, view(), now);
        answers.add('decided');
      } catch {
        answers.add('failed');
      }
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    t.true(answers.has(wanted), wanted);
  }
});

test.serial(
  'decisions stay within the cap, and invalid observations never reach the module',
  async (t) => {
    const manager = await loaded(
      t,
      module('decide: (state) => ({ state, decision: { cpu: 1e9, actions: [0, 1, 0] } })'),
    );
    const state = manager.initialState('/guest/a');
    t.is(Number(manager.decide(state, view(), now).decision.cpu), 4000);
    t.deepEqual(manager.decide(state, view(), Number.NaN as Millis).decision, {
      actions: [0, 0, 0],
    });
  },
);

test.serial('a module is found by path or package name, relative to the configuration', (t) => {
  const project = temporaryFolder('managers');
  const deep = join(project, 'etc', 'gleaner');
  const files: Record<string, string> = {
    'etc/gleaner/own.mjs': '',
    'node_modules/plain/index.js': '',
    'node_modules/plain/package.json': '{}',
    'node_modules/@team/one/dist/main.mjs': '',
    'node_modules/@team/one/package.json':
      '{"exports": {".": {"types": "./x.d.ts", "import": "./dist/main.mjs"}}}',
    'node_modules/broken/package.json': '{',
    'node_modules/empty/package.json': '{"main": "gone.js"}',
  };
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(join(project, path, '..'), { recursive: true });
    writeFileSync(join(project, path), text);
  }
  t.is(managerFile('./own.mjs', deep), join(deep, 'own.mjs'));
  t.is(managerFile('package:plain', deep), join(project, 'node_modules/plain/index.js'));
  t.is(
    managerFile('package:@team/one', deep),
    join(project, 'node_modules/@team/one/dist/main.mjs'),
  );
  for (const [wrong, said] of [
    ['./gone.mjs', /gone\.mjs: no such file/],
    ['package:not-installed', /not-installed: no such package in node_modules of .*etc\/gleaner/],
    ['package:broken', /its package\.json cannot be read/],
    ['package:empty', /gone\.js: no such file/],
    ['plain', /neither a path nor package:NAME/],
  ] as const)
    t.throws(() => managerFile(wrong, deep), { instanceOf: ManagerModuleError, message: said });
});
