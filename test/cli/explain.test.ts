import test from 'ava';
import { failedInitsText, grantText, outcomeText } from '../../cli/commands/explain.js';
import { cores, localTime } from '../../runtime/output.js';

const ended = (reason: string, status: number) =>
  outcomeText({
    ended: reason,
    status,
    enforced: false,
    harvested: 0,
    accelerated: 0,
    saved: 0,
    loan: 0,
  } as never);

test('explain tells that the initialization of an activation failed, and how', (t) => {
  t.is(ended('init_failed', 502), 'not enforced; initialization failed (status 502)');
  t.is(ended('init_failed', 0), 'not enforced; initialization failed (no answer)');
  t.is(ended('container_end', 0), 'not enforced; container ended');
});

test('explain tells of failed initializations whose activations are not known', (t) => {
  // 2026-01-01T00:00:00Z in microseconds.
  const text = failedInitsText({
    count: 3,
    at: 1_767_225_600_000_000,
    status: 502,
    container: 'wsk0_5_guest_broken',
  });
  t.true(text.startsWith('initialization failed 3 times'), text);
  t.true(
    text.includes(`${localTime(1_767_225_600_000_000)}, status 502, container wsk0_5_guest_broken`),
    text,
  );
});

test('a grant is said in words: what was granted, allowed and requested, and why', (t) => {
  const grant = {
    user: 1000,
    demand: 400,
    lower: 300,
    upper: 1000,
    granted: 350,
    borrowed: 0,
    peak: 250,
    rangeReason: 'over_provisioned' as const,
    choice: 'chosen' as const,
  };
  t.is(
    grantText(grant, cores),
    '0.35, allowed 0.3 to 1, user 1, requested 0.4: uses less than its limit; as the policy chose',
  );
  const fixed = {
    ...grant,
    demand: 1000,
    lower: 1000,
    granted: 1000,
    rangeReason: 'control' as const,
    choice: 'user' as const,
  };
  t.is(grantText(fixed, cores), "1, the user's: control arm: user limit");
});

test('times are in the reader’s time zone, and none for what is no time', (t) => {
  const date = new Date(2026, 10, 29, 0, 18, 48);
  t.is(localTime(date.getTime() * 1000), '2026-11-29 00:18:48');
  t.is(localTime(date.getTime() * 1000, 'time'), '00:18:48');
  t.is(localTime(Number.NaN), '-');
});
