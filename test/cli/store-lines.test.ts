import test from 'ava';
import { StoreFullError } from '../../broker/errors.js';
import { silentLogger } from '../../broker/index.js';
import { findServices, type ServiceInstance, serve } from '../../broker/services/index.js';
import { failingStores, refusedLines, refusedOf, storesOf } from '../../cli/store-lines.js';
import { configSchema, millis } from '../../config/index.js';
import { Operating } from '../../runtime/metrics/index.js';
import { seriesOf } from '../runtime/metrics/exposition.js';
import { ManualTime } from '../support/manual-time.js';
import { MemoryBus } from '../support/memory-broker/memory-bus.js';

const full = new StoreFullError(
  'update in bucket gleaner_leases',
  'maximum messages per subject exceeded',
);

/** A part whose leases are refused while all else is stored. */
async function partWithFullStore() {
  const bus = new MemoryBus();
  const broker = bus.connect();
  bus.refusal = (store, operation) =>
    store === 'gleaner_leases' && operation === 'write' ? full : null;
  for (let i = 0; i < 3; i++)
    await broker
      .keyValue('gleaner_leases')
      .put('k', new Uint8Array(1))
      .catch(() => undefined);
  await broker.keyValue('gleaner_functions').put('k', new Uint8Array(1));
  return { bus, broker };
}

test('status shows failing stores by part, with consequence and hint', async (t) => {
  const { bus, broker } = await partWithFullStore();
  const definition = { version: '1.0.0', description: '', endpoints: {} };
  serve(broker, { name: 'gleaner-agents', host: 'h1', ...definition });
  serve(bus.connect(), { name: 'gleaner-hook', host: 'h2', ...definition });
  const stores = storesOf(await findServices(bus.connect(), null, millis(50), 'STATS'));
  t.deepEqual(
    stores.map(({ service, host, store, operation, failed }) => [
      service,
      host,
      store,
      operation,
      failed,
    ]),
    [
      ['gleaner-agents', 'h1', 'gleaner_functions', 'write', 0],
      ['gleaner-agents', 'h1', 'gleaner_leases', 'write', 3],
    ],
  );
  const text = failingStores(stores);
  t.regex(
    text,
    /FAILING STORE +OPERATION +SERVICE +HOST +FAILURES +FOR S\n\w+_leases +write +\S+ +h1 +3 +\d/,
  );
  t.regex(
    text,
    /the store is full: maximum messages per subject exceeded \[GLN_BROKER_STORE_FULL\]/,
  );
  t.regex(text, /no targets and no mean field are sent, and user limits and local policies apply/);
  t.regex(text, /max_file_store/);
  t.is(
    failingStores(stores.filter(({ failure }) => failure === null)),
    '',
    'nothing is said while all is well',
  );
});

test('invalid store reports are ignored', (t) => {
  const instance = { name: 'gleaner-hook', id: 'x', version: '1.0.0', metadata: { host: 'h' } };
  for (const stores of [undefined, 'no', [{ store: 1 }], [null]])
    t.deepEqual(
      storesOf([{ ...instance, ...(stores === undefined ? {} : { stores: stores as never }) }]),
      [],
    );
});

test('a failing store degrades readiness and is a metric until it recovers', async (t) => {
  const { bus, broker } = await partWithFullStore();
  const time = new ManualTime();
  const operating = new Operating('agents', time, 1000);
  let address = '';
  const info = (fields: object): void => {
    address = (fields as { address: string }).address;
  };
  const { metrics } = configSchema.parse({ metrics: { agents: '127.0.0.1:0' } });
  await operating.listen(metrics, { ...silentLogger, info });
  t.teardown(() => operating.stop());
  operating.watch({ broker, update: () => undefined, checks: () => [] });
  const ready = operating.health.ready(true);
  t.is(ready.status, 200, 'it does its work all the same');
  t.regex(ready.text, /\[~\] stores: gleaner_leases: 3 writes failed \(GLN_BROKER_STORE_FULL\)/);
  t.regex(ready.text, /ok, degraded: stores/);
  const series = async () => seriesOf(await (await fetch(`${address}/metrics`)).text());
  const labels = '{store="gleaner_leases",operation="write"}';
  const failed = '{store="gleaner_leases",operation="write",result="failed"}';
  let found = await series();
  t.is(found.get(`gleaner_store_failing${labels}`), 1);
  t.is(found.get(`gleaner_store_operations_total${failed}`), 3);
  bus.refusal = () => null;
  await broker.keyValue('gleaner_leases').put('k', new Uint8Array(1));
  // Health is looked at four times a second at most.
  time.advance(millis(250));
  found = await series();
  t.is(found.get(`gleaner_store_failing${labels}`), 0);
  t.notRegex(operating.health.ready(true).text, /stores/);
});

test('status names the subjects that NATS refuses to each part', (t) => {
  const part = (host: string, refusedSubjects?: unknown) =>
    ({
      name: 'gleaner-hook',
      id: host,
      version: '1.0.0',
      metadata: { host },
      refusedSubjects,
    }) as ServiceInstance;
  const many = ['$KV.gleaner_mode.>', 'b', 'c', 'd', 'e', 'f'];
  // Older parts report nothing.
  const refused = refusedOf([part('h1', many), part('h2', []), part('h3'), part('h4', [1])]);
  t.deepEqual(refused, [{ service: 'gleaner-hook', host: 'h1', subjects: many }]);
  t.is(
    refusedLines(refused),
    'gleaner-hook on h1: NATS refuses $KV.gleaner_mode.>, b, c, d, e and 1 more: correct this ' +
      "user's permissions\n",
  );
  t.is(refusedLines([]), '');
});
