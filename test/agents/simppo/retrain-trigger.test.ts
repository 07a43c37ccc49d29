import test from 'ava';
import { RevisionTrigger } from '../../../agents/simppo/index.js';
import { observation } from '../../support/observations.js';

const of = (fn: string, revision?: string) =>
  observation({ function: fn, ...(revision === undefined ? {} : { revision }) });

test('a new revision trips once; first, old and other functions’ revisions do not', (t) => {
  const trigger = new RevisionTrigger();
  const seen = ['0.0.9', '0.0.9', '0.0.10', '0.0.9', '0.0.10', '0.1.0'].map((revision) =>
    trigger.shouldRetrain(of('/g/f', revision)),
  );
  t.deepEqual(seen, [false, false, true, false, false, true]);
  t.false(trigger.shouldRetrain(of('/g/other', '0.0.1')));
});

test('versions that do not count up are new where they differ; without one nothing trips', (t) => {
  const trigger = new RevisionTrigger();
  t.deepEqual(
    ['abc', 'abc', 'abd'].map((revision) => trigger.shouldRetrain(of('/g/f', revision))),
    [false, false, true],
  );
  t.false(trigger.shouldRetrain(of('/g/plain')));
});
