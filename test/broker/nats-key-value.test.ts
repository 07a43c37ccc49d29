import test from 'ava';
import type { NatsConnection } from 'nats';
import { NatsKeyValue } from '../../broker/nats/nats-key-value.js';
import { StoreHealth } from '../../broker/store-health.js';
import { millis } from '../../config/index.js';
import { ManualTime } from '../support/manual-time.js';

test('after a connect the notices of a bucket count as accepted, also without JetStream', (t) => {
  let refuse = (): void => t.fail('nothing is subscribed');
  const noJetStream = () => Promise.reject(new Error('503'));
  const connection = {
    subscribe: (_: string, { callback }: { callback: (error: Error) => void }) => {
      refuse = () => callback(new Error('permissions violation'));
      return { unsubscribe: () => undefined };
    },
    jetstream: noJetStream,
    jetstreamManager: noJetStream,
  } as unknown as NatsConnection;
  const time = new ManualTime();
  const parts = {
    connection: () => connection,
    timeout: millis(100),
    health: new StoreHealth(time),
    clock: time,
  };
  const bucket = new NatsKeyValue('mode', parts, time, () => undefined);
  t.teardown(() => bucket.close());
  bucket.watch(() => undefined);
  refuse();
  t.true(bucket.isRefused);
  for (const fresh of [false, true]) {
    bucket.connected(fresh);
    t.false(bucket.isRefused);
    refuse();
    t.true(bucket.isRefused, 'this one refuses, too');
  }
});
