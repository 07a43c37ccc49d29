import test from 'ava';
import fc from 'fast-check';
import { BrokerDisconnectedError, StoreFullError } from '../../broker/errors.js';
import { type Logger, logStores } from '../../broker/index.js';
import { type StoreEpisode, StoreHealth } from '../../broker/store-health.js';
import { millis } from '../../config/index.js';
import { ManualTime } from '../support/manual-time.js';

const full = (): StoreFullError =>
  new StoreFullError('put in bucket b', 'insufficient storage resources available');

test('900 refused writes are one episode with a log line at its start and end', (t) => {
  const time = new ManualTime();
  const health = new StoreHealth(time);
  const lines: [string, object, string][] = [];
  const at =
    (level: string) =>
    (fields: object, message: string): void =>
      void lines.push([level, fields, message]);
  const logger: Logger = {
    debug: at('debug'),
    info: at('info'),
    warn: at('warn'),
    error: at('error'),
  };
  logStores(health, logger);
  for (let i = 0; i < 900; i++) {
    time.advance(millis(10));
    health.failed('gleaner_trajectories', 'write', full());
  }
  t.is(lines.length, 1);
  const [level, fields, message] = lines[0]!;
  t.is(level, 'error');
  t.like(fields, {
    event: 'store_failing',
    store: 'gleaner_trajectories',
    code: 'GLN_BROKER_STORE_FULL',
    consequence: 'steps of agents are not recorded',
  });
  t.regex(message, /the store is full/);
  t.like(health.states(), [{ failed: 900, succeeded: 0, failure: { count: 900, lasting: 8990 } }]);
  health.succeeded('gleaner_trajectories', 'write');
  t.is(lines.length, 2);
  t.like(lines[1]![1], { event: 'store_recovered', failures: 900, lastedSeconds: 9 });
  t.like(health.states(), [{ failed: 900, succeeded: 1, failure: null }]);
});

test('a lost connection is not a failure of a store', (t) => {
  const health = new StoreHealth(new ManualTime());
  health.failed('gleaner_mode', 'read', new BrokerDisconnectedError('get'));
  t.deepEqual(health.states(), []);
});

test('a listener that throws does not affect the writer', (t) => {
  const health = new StoreHealth(new ManualTime());
  health.onEpisode(() => {
    throw new Error('no');
  });
  t.notThrows(() => health.failed('b', 'write', full()));
});

test('a key that is not retried does not keep an episode open', (t) => {
  const time = new ManualTime();
  const health = new StoreHealth(time);
  health.failed('b', 'write', full(), 'gone');
  health.succeeded('b', 'write', 'other');
  t.not(health.states()[0]!.failure, null);
  time.advance(millis(61_000));
  health.succeeded('b', 'write', 'other');
  t.is(health.states()[0]!.failure, null);
});

test('episodes alternate between begin and end, and their counts are all failures', (t) => {
  const step = fc.record({
    key: fc.constantFrom('a', 'b', 'c'),
    ok: fc.boolean(),
    wait: fc.nat(30_000),
  });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 80 }), (steps) => {
      const time = new ManualTime();
      const health = new StoreHealth(time);
      const episodes: StoreEpisode[] = [];
      health.onEpisode((episode) => episodes.push(episode));
      for (const { key, ok, wait } of steps) {
        time.advance(millis(wait));
        if (ok) health.succeeded('b', 'write', key);
        else health.failed('b', 'write', full(), key);
      }
      const [state] = health.states();
      const ended = episodes.filter(({ error }) => error === null);
      const counted = ended.reduce(
        (sum, { failure }) => sum + failure.count,
        state?.failure?.count ?? 0,
      );
      return (
        episodes.every(({ error }, i) => (error === null) === (i % 2 === 1)) &&
        counted === steps.filter(({ ok }) => !ok).length &&
        (state?.succeeded ?? 0) === steps.filter(({ ok }) => ok).length
      );
    }),
  );
  t.pass();
});
