import test from 'ava';
import { actionSettings } from '../../../openwhisk-plugin/openwhisk-api/annotations.js';
import {
  type JournalEntry,
  openChanges,
  readAnnotations,
} from '../../../openwhisk-plugin/openwhisk-api/index.js';

const action = (annotations: Record<string, unknown>, memory = 512) => ({
  namespace: 'guest',
  name: 'thumbs',
  version: '0.0.3',
  limits: { memory },
  annotations: Object.entries(annotations).map(([key, value]) => ({ key, value })),
});
const NOTHING = {
  mode: null,
  modeAsWritten: null,
  sloMs: null,
  cpuMillicores: null,
  bounds: null,
  unreadable: [],
};

test('annotations are read as JSON has them, and as the text that `wsk -a` makes of them', (t) => {
  const bounds = { memoryMiB: { min: 128, max: 512 } };
  const read = {
    mode: 'recommend',
    modeAsWritten: 'recommend',
    sloMs: 750,
    cpuMillicores: 250,
    bounds,
    unreadable: [],
  };
  for (const detail of [
    {
      'gleaner.mode': 'recommend',
      'gleaner.slo': 750,
      'gleaner.cpu': 250,
      'gleaner.bounds': bounds,
    },
    {
      'gleaner.mode': 'recommend',
      'gleaner.slo': '750',
      'gleaner.cpu': '250',
      'gleaner.bounds': JSON.stringify(bounds),
    },
  ])
    t.deepEqual(readAnnotations(action(detail)), read as never);
  t.deepEqual(readAnnotations(action({ 'gleaner.mode': 'off' })), {
    ...NOTHING,
    mode: 'observe',
    modeAsWritten: 'off',
  });
  t.deepEqual(
    readAnnotations(action({ exec: 'nodejs:20', 'gleaner.slo': null, gleaner: 1 })),
    NOTHING,
  );
});

test('a bad value and a misspelt name are named, and the function is only observed', (t) => {
  for (const [key, value] of [
    ['gleaner.mode', 'enfroce'],
    ['gleaner.mode', true],
    ['gleaner.slo', 0],
    ['gleaner.slo', '1s'],
    ['gleaner.slo', 86_400_001],
    ['gleaner.slo', ''],
    ['gleaner.cpu', -1],
    // Cores instead of millicores, seconds instead of ms.
    ['gleaner.cpu', 2],
    ['gleaner.slo', 0.8],
    ['gleaner.bounds', { cpuMillicores: { max: 2 } }],
    ['gleaner.cpu', 1_000_001],
    ['gleaner.cpu', '1e999'],
    ['gleaner.bounds', '{"memoryMiB"'],
    ['gleaner.bounds', { memoryMib: { min: 1 } }],
    ['gleaner.bounds', { memoryMiB: { min: 2, max: 1 } }],
    ['gleaner.bound', { memoryMiB: { min: 1 } }],
    ['gleaner.', 1],
  ] as const) {
    const read = readAnnotations(action({ [key]: value }));
    t.deepEqual(read.unreadable, [key], `${key} ${JSON.stringify(value)}`);
    t.is(read.mode, 'observe');
  }
});

test('hooks get the annotated settings, and the earlier size of a resized action', (t) => {
  const line = { v: 1 as const, function: '/guest/thumbs', at: 0 };
  const entries: JournalEntry[] = [
    {
      ...line,
      kind: 'intent',
      version: '0.0.2',
      original: { memory: 512 },
      to: { memory: 192 },
      why: 'right-size',
    },
  ];
  const open = openChanges(entries).get('/guest/thumbs');
  t.is(actionSettings(action({}), undefined), null);
  t.deepEqual(actionSettings(action({ 'gleaner.slo': 100, 'gleaner.mode': 'x' }), undefined), {
    v: 1,
    function: '/guest/thumbs',
    sloMs: 100,
    unreadable: ['gleaner.mode'],
  });
  t.deepEqual(actionSettings(action({}, 192), open), {
    v: 1,
    function: '/guest/thumbs',
    resized: { fromMiB: 512, toMiB: 192 },
    unreadable: [],
  });
  // The user's own size again, or another one.
  t.is(actionSettings(action({}, 512), open), null);
  t.is(actionSettings(action({}, 256), open), null);
});
