import test from 'ava';
import { NewerObjects } from '../../../../agents/index.js';
import {
  TableDamagedError,
  TableForeignError,
  TableNewerError,
} from '../../../../agents/tuning/concurrency/errors.js';
import type { LimitSearch } from '../../../../agents/tuning/concurrency/search.js';
import type { LimitGrid } from '../../../../agents/tuning/concurrency/settings.js';
import {
  loadTable,
  saveTable,
  type TableOwner,
  tableName,
  tableStore,
} from '../../../../agents/tuning/concurrency/table.js';
import {
  concurrencyTuner,
  hillClimbing,
  Q_DEFAULT,
  type QLearningState,
  qLearning,
  stepMask,
  TUNER_DEFAULT,
} from '../../../../agents/tuning/index.js';
import { objectStores } from '../../../../broker/index.js';
import { SeededRandom } from '../../../../config/index.js';
import { MemoryBus } from '../../../support/memory-broker/memory-bus.js';

const { grid } = TUNER_DEFAULT;
const search = qLearning(Q_DEFAULT);
const owner = { function: '/guest/hello', revision: '0.0.3' };

function learned(): QLearningState {
  const random = new SeededRandom(3);
  let state = search.initialState();
  let place = 4;
  for (let i = 0; i < 60; i++) {
    const measurement = {
      limit: 10 + 20 * place,
      throughput: 100 - place,
      cpu: 0.5,
      memory: 0.1 * place,
    };
    const next = search.next(
      state,
      measurement,
      { grid, place, maskAt: (at) => stepMask(grid, grid, at) },
      random,
    );
    state = next.state;
    place += next.action - 1;
  }
  return state;
}

const emptyStore = () => new MemoryBus().connect().objects(objectStores.policies);
/** The object that a table is kept as. */
async function saved<State>(of: TableOwner, by: LimitSearch<State>, on: LimitGrid, state: State) {
  const store = emptyStore();
  await saveTable(store, of, by, on, state);
  return Buffer.from((await store.get(tableName(of)))!).toString();
}
const text = await saved(owner, search, grid, learned());
/** That object with one thing in it changed. */
const changed = (
  change: (file: { learned?: Partial<QLearningState> & object }) => void,
): string => {
  const file = JSON.parse(text);
  change(file);
  return JSON.stringify(file);
};
async function read(from: string) {
  const store = emptyStore();
  await store.put(tableName(owner), Buffer.from(from));
  return await loadTable(store, owner, search, grid);
}

test('a table comes back as it was kept, by function and revision', async (t) => {
  const store = emptyStore();
  const state = learned();
  t.is(await loadTable(store, owner, search, grid), null);
  await saveTable(store, owner, search, grid, state);
  t.deepEqual(await loadTable(store, owner, search, grid), state);
  t.is(await loadTable(store, { ...owner, revision: '0.0.4' }, search, grid), null);
  t.is(await loadTable(store, { ...owner, function: '/guest/other' }, search, grid), null);
  t.deepEqual(concurrencyTuner(search, TUNER_DEFAULT).initialState(state).search, state);
});

test('functions and revisions never share a name', (t) => {
  t.not(
    tableName({ function: '/a/b', revision: 'c.d' }),
    tableName({ function: '/a/b.c', revision: 'd' }),
  );
  t.regex(tableName({ function: '/a/ä b', revision: '../x' }), /^concurrency\.[\w-]+\.[\w-]+$/);
});

test('a damaged table is refused by name', async (t) => {
  const damaged = [
    '',
    text.slice(0, -20),
    'null',
    '[]',
    changed((file) => delete file.learned),
    changed((file) => Object.assign(file.learned!, { iteration: -1 })),
    changed((file) => Object.assign(file.learned!, { reference: 'high' })),
    changed((file) => Object.assign(file.learned!, { more: 1 })),
    changed((file) => Object.assign(file.learned!.table!, { '4.1.1': [1, 2] })),
    changed((file) => Object.assign(file.learned!.table!, { '4.1.1': [1, 2, null] })),
    // Place 16 is above 310, bin 10 above the tenth.
    changed((file) => Object.assign(file.learned!.table!, { '16.1.1': [1, 2, 3] })),
    changed((file) => Object.assign(file.learned!.table!, { '4.10.1': [1, 2, 3] })),
    changed((file) =>
      Object.assign(file.learned!, { pending: { key: '4.1.1', action: 3, place: 4 } }),
    ),
  ];
  for (const from of damaged)
    await t.throwsAsync(read(from), { instanceOf: TableDamagedError }, from.slice(0, 200));
});

test('a table of another function, revision, search or set of limits is refused', async (t) => {
  const foreign = [
    saved({ ...owner, function: '/guest/other' }, search, grid, learned()),
    saved({ ...owner, revision: '0.0.4' }, search, grid, learned()),
    saved(owner, search, { ...grid, most: 290 }, learned()),
    saved(owner, qLearning({ ...Q_DEFAULT, bins: 5 }), grid, learned()),
    saved(owner, qLearning({ ...Q_DEFAULT, replay: false }), grid, learned()),
    saved(owner, hillClimbing, grid, hillClimbing.initialState()),
  ];
  for (const from of foreign)
    await t.throwsAsync(read(await from), { instanceOf: TableForeignError });
});

test('beside a table of a newer Gleaner this one stores its own', async (t) => {
  const objects = emptyStore();
  const newer = Buffer.from('{"v":2}');
  await objects.put(tableName(owner), newer);
  const newerObjects = new NewerObjects();
  const store = tableStore(objects, newerObjects);
  t.is(await loadTable(store, owner, search, grid), null);
  await saveTable(store, owner, search, grid, learned());
  t.deepEqual(await loadTable(store, owner, search, grid), learned());
  t.deepEqual(Buffer.from((await objects.get(tableName(owner)))!), newer);
  t.is(newerObjects.count, 1);
});

test('a table of a later version is refused by name, whatever else is in it', async (t) => {
  await t.throwsAsync(read('{"v":2}'), {
    instanceOf: TableNewerError,
    code: 'GLN_CONCURRENCY_NEWER',
  });
});
