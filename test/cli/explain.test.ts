import test from 'ava';
import { failedInitsText, outcomeText } from '../../cli/commands/explain.js';

const ended = (reason: string, status: number) =>
  outcomeText({ ended: reason, status, enforced: false, harvested: 0, accelerated: 0, saved: 0, loan: 0 } as never);

test('explain tells that the initialization of an activation failed, and how', (t) => {
  t.is(ended('init_failed', 502), 'not enforced; initialization failed (status 502)');
  t.is(ended('init_failed', 0), 'not enforced; initialization failed (no answer)');
  t.is(ended('container_end', 0), 'not enforced; ended by container_end');
});

test('explain tells of failed initializations whose activations are not known', (t) => {
  // 2026-01-01T00:00:00Z in microseconds.
  const text = failedInitsText({ count: 3, at: 1_767_225_600_000_000, status: 502, container: 'wsk0_5_guest_broken' });
  t.true(text.startsWith('initialization failed 3 times'), text);
  t.true(text.includes('2026-01-01T00:00:00.000Z, status 502, container wsk0_5_guest_broken'), text);
});
