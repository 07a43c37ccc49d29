import test from 'ava';
import fc from 'fast-check';
import {
  type JournalEntry,
  keptSinceKill,
  killedSizes,
  type LimitValues,
  openChanges,
} from '../../../openwhisk-plugin/openwhisk-api/index.js';
import { summarized } from '../../../openwhisk-plugin/openwhisk-api/journal-summary.js';
import { userVersions } from '../../../openwhisk-plugin/openwhisk-api/open-changes.js';

/** What a tuner leaves of one action: a change, its end, and the next. */
function tuned(fn: string, changes: number): JournalEntry[] {
  const line = { v: 1 as const, function: fn };
  return Array.from({ length: changes }, (_, i) => [
    {
      ...line,
      at: i,
      kind: 'intent' as const,
      version: `0.0.${1 + i}`,
      original: { concurrency: 20 },
      to: { concurrency: 30 + 10 * (i % 4) },
      why: 'concurrency' as const,
    },
    { ...line, at: i, kind: 'done' as const, version: `0.0.${2 + i}` },
  ]).flat();
}

test('a thousand changes by the tuner are as many lines as it tried limits', (t) => {
  const entries = tuned('/guest/thumbs', 1000);
  const left = summarized(entries);
  // 30, 40, 50, 60 and the last one's end.
  t.is(left.length, 5);
  t.deepEqual(openChanges(left), openChanges(entries));
  t.deepEqual(
    userVersions(left),
    new Map([['/guest/thumbs', { user: '0.0.1', setByGleaner: '0.0.1001' }]]),
  );
});

test('a change with an unknown result stays open', (t) => {
  const entries = tuned('/guest/thumbs', 20).slice(0, -1);
  const left = summarized(entries);
  t.like(openChanges(left).get('/guest/thumbs'), { answered: false, version: '0.0.20' });
  t.deepEqual(openChanges(left), openChanges(entries));
  t.deepEqual(userVersions(left), userVersions(entries));
});

test('of what was undone nothing stays, of what was killed the size', (t) => {
  const line = { v: 1 as const, function: '/guest/a', at: 5 };
  const gone: JournalEntry[] = [
    ...tuned('/guest/a', 30),
    { ...line, kind: 'closed', why: 'undone' },
  ];
  t.deepEqual(summarized(gone), []);
  const killed: JournalEntry = { ...line, kind: 'killed', memory: 128 };
  t.deepEqual(killedSizes(summarized([...gone, killed])), killedSizes([...gone, killed]));
});

test('whatever was written, the same is read from the summary', (t) => {
  const value = fc.constantFrom(128, 192, 256, 320);
  const step = fc.record({
    fn: fc.constantFrom('/guest/a', '/guest/b'),
    kind: fc.constantFrom(
      'intent',
      'intent',
      'intent',
      'done',
      'refused',
      'kept',
      'closed',
      'changed_by_others',
    ),
    limit: fc.constantFrom('memory', 'concurrency', 'instances'),
    value,
    why: fc.constantFrom(undefined, 'right-size', 'concurrency'),
  });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 120 }), (steps) => {
      const entries: JournalEntry[] = [];
      const worlds = new Map<string, { patch: number; asked: boolean; limits: LimitValues }>();
      steps.forEach(({ fn, kind, limit, value, why }, at) => {
        const world = worlds.get(fn) ?? {
          patch: 1,
          asked: false,
          limits: { memory: 512, concurrency: 1 },
        };
        worlds.set(fn, world);
        const line = { v: 1 as const, function: fn, at };
        if (kind === 'changed_by_others') {
          // The owner deploys the action again.
          world.patch++;
          world.limits = { ...world.limits, memory: 384 };
        } else if (kind === 'intent') {
          const open = openChanges(entries)
            .get(fn)
            ?.limits.get(limit as 'memory');
          const now = world.limits[limit as 'memory'];
          const original =
            open !== undefined && now !== undefined && open.setByGleaner.has(now)
              ? open.original
              : (now ?? null);
          entries.push({
            ...line,
            kind,
            version: `0.0.${world.patch}`,
            original: original === null ? {} : { [limit]: original },
            to: { [limit]: value },
            ...(why === undefined ? {} : { why: why as 'concurrency' }),
          });
          world.asked = true;
          world.limits = { ...world.limits, [limit]: value };
        } else if (kind === 'done' || kind === 'refused') {
          if (!world.asked) return;
          world.asked = false;
          if (kind === 'done') entries.push({ ...line, kind, version: `0.0.${++world.patch}` });
          else entries.push({ ...line, kind });
        } else if (kind === 'kept') entries.push({ ...line, kind });
        else if (kind === 'closed') entries.push({ ...line, kind, why: 'undone' });
      });
      const left = summarized(entries);
      const open = openChanges(entries);
      t.deepEqual(openChanges(left), open);
      const versions = userVersions(left);
      for (const fn of open.keys()) t.deepEqual(versions.get(fn), userVersions(entries).get(fn));
      t.true(left.length <= entries.length + 3 && keptSinceKill(left) <= keptSinceKill(entries));
      // Again, nothing changes.
      t.deepEqual(openChanges(summarized(left)), open);
    }),
    { numRuns: 100 },
  );
});
