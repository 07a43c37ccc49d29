import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { services } from '../../../broker/index.js';
import { type SizeAdvice, serve } from '../../../broker/services/index.js';
import { type Config, configSchema } from '../../../config/index.js';
import { statePaths } from '../../../runtime/settings.js';
import { connectActions } from '../../../runtime/wiring/actions.js';
import { followSizes } from '../../../runtime/wiring/right-sizing.js';
import { adviceOf, RULES } from '../../openwhisk-plugin/openwhisk-api/advice.js';
import {
  FakeOpenWhiskRest,
  KEY,
} from '../../openwhisk-plugin/openwhisk-api/fake-openwhisk-rest.js';
import { until } from '../../support/gleaner.js';
import { MemoryBus } from '../../support/memory-broker/memory-bus.js';
import { temporaryFolder } from '../../support/temporary-folder.js';

const NAMES = ['f0', 'f1'];

/** `gleaner actions follow` with two actions of 512 MB for which 192 MB are recommended. */
async function following(t: ExecutionContext, changesPerMinute: number) {
  const rest = await FakeOpenWhiskRest.start('2.0.0');
  t.teardown(() => rest.stop());
  for (const name of NAMES) rest.add(`guest/${name}`, { memory: 512 });
  const folder = temporaryFolder('follow');
  const config = structuredClone(configSchema.parse({})) as Config;
  const keysFile = join(folder, 'keys');
  writeFileSync(keysFile, `${KEY}\n`, { mode: 0o600 });
  Object.assign(config, { mode: 'enforce' });
  Object.assign(config.hook, { stateDir: join(folder, 'state') });
  Object.assign(config.openwhisk, { apiHost: rest.url, keysFile, changesPerMinute });
  const { leastActivations, canaries } = RULES;
  const rules = { everyS: 86_400, leastActivations, leastHours: 0, canaries, payBackHours: null };
  Object.assign(config.openwhisk.rightSizing, rules);
  const bus = new MemoryBus();
  const functions: readonly SizeAdvice[] = NAMES.map((name) => adviceOf(`/guest/${name}`));
  const page = { description: '', handle: () => ({ total: 0, functions: [] }) };
  const advice = { description: '', handle: () => ({ total: 2, hosts: [], functions }) };
  const agents = serve(bus.connect(), {
    name: services.agents,
    version: '1.0.0',
    description: '',
    host: 'agents-1',
    endpoints: { advice, concurrency: page },
  });
  t.teardown(() => agents.stop());
  const stopping = new AbortController();
  const logged: object[] = [];
  const log = (fields: object): void => void logged.push(fields);
  const follow = followSizes({
    config,
    writer: await connectActions(config, { signal: stopping.signal }),
    broker: bus.connect(),
    logger: { debug: log, info: log, warn: log, error: log },
    stopping,
  });
  t.teardown(() => follow.stop());
  const memory = () => NAMES.map((name) => rest.actions.get(`guest/${name}`)!.limits.memory);
  return { rest, follow, memory, logged, killSwitch: statePaths(config).killSwitch };
}

test('stopping ends the wait between two writes, and writes nothing more', async (t) => {
  // Two changes are a minute apart.
  const { follow, memory, rest, logged } = await following(t, 1);
  const turn = follow.turn();
  await until(() => rest.puts().length === 1, 30_000, 'the first size is written');
  const begun = performance.now();
  await follow.stop();
  t.true(performance.now() - begun < 30_000);
  await turn;
  t.deepEqual(memory(), [192, 512]);
  t.false(
    logged.some((fields) => 'error' in fields),
    'a stop is no failure',
  );
});

test('the kill switch stops the wave, and the log says why once', async (t) => {
  const { follow, memory, rest, logged, killSwitch } = await following(t, 600);
  rest.between = () => {
    rest.between = null;
    mkdirSync(join(killSwitch, '..'), { recursive: true });
    writeFileSync(killSwitch, '');
  };
  await follow.turn();
  await follow.turn();
  t.deepEqual(memory(), [192, 512]);
  const held = logged.filter((fields) => 'event' in fields && fields.event === 'actions_held');
  t.deepEqual(held, [
    {
      event: 'actions_held',
      functions: 1,
      function: '/guest/f1',
      reason: `the kill switch is set: ${killSwitch}`,
    },
  ]);
});
