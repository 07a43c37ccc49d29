import { spawn } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { collected, gleaner as run, until } from '../support/gleaner.js';
import { allowed } from '../support/slowness.js';
import { temporaryFolder } from '../support/temporary-folder.js';
import type { OpenWhiskApi } from './api.js';
import { GleanerFixture } from './gleaner-fixture.js';
import { onlyWithAllCases, openWhiskMissing, Standalone } from './standalone.js';

const LONG = 180_000;
const ECHO = 'function main(args) { return { args } }';
/** Touches every page, and gives the memory back before the next activation. */
const GROW = `async function main({ megabytes }) {
  const keep = [];
  for (let i = 0; i < megabytes; i++) keep.push(Buffer.allocUnsafeSlow(1048576).fill(1));
  await new Promise((resolve) => setTimeout(resolve, 150));
  const { port1, port2 } = new (require('node:worker_threads').MessageChannel)();
  port2.close();
  for (const { buffer } of keep) port1.postMessage(buffer, [buffer]);
  return { megabytes };
}`;
const SLEEP =
  'async function main() { await new Promise((resolve) => setTimeout(resolve, 100)); return {} }';

interface Outcome {
  readonly function: string;
  readonly result: string;
  readonly note: string;
}

/** A real OpenWhisk and what `gleaner` reads of it. */
async function setUp(
  t: ExecutionContext,
): Promise<{ openWhisk: Standalone; api: OpenWhiskApi; keysFile: string }> {
  const openWhisk = new Standalone();
  t.teardown(() => openWhisk.stop());
  await openWhisk.start();
  const keysFile = join(temporaryFolder('openwhisk-keys'), 'keys');
  writeFileSync(keysFile, `${openWhisk.api.key}\n`, { mode: 0o600 });
  return { openWhisk, api: openWhisk.api, keysFile };
}

test.serial(
  'the real API lists, changes and restores limits of actions, and nothing else',
  async (t) => {
    if (openWhiskMissing(t)) return;
    t.timeout(allowed(600_000));
    const { openWhisk, api, keysFile } = await setUp(t);
    const folder = temporaryFolder('openwhisk-actions');
    const config = join(folder, 'gleaner.json');
    const openwhisk = { apiHost: api.host, keysFile, changesPerMinute: 600, holdS: 0 };
    writeFileSync(
      config,
      JSON.stringify({ mode: 'enforce', hook: { stateDir: join(folder, 'state') }, openwhisk }),
    );
    const actions = (...args: string[]) =>
      run(['--config', config, 'actions', ...args, '-o', 'json']);
    const outcomes = async (...args: string[]): Promise<Outcome[]> => {
      const { out, err } = await actions(...args, '--no-dry-run');
      t.is(err.includes('GLN_'), false, err);
      return (JSON.parse(out) as { outcomes: Outcome[] }).outcomes;
    };
    const apply = (...requests: [string, number][]): Promise<Outcome[]> => {
      const file = join(folder, 'requests.json');
      writeFileSync(
        file,
        JSON.stringify(
          requests.map(([name, memoryMiB]) => ({ function: `/guest/${name}`, memoryMiB })),
        ),
      );
      return outcomes('apply', '--requests', file);
    };
    const memoryOf = async (name: string): Promise<number> =>
      (await api.action(name)).limits.memory;

    await api.put('packages/pkg', {});
    const bounds = { key: 'gleaner.bounds', value: { memoryMiB: { min: 384, max: 512 } } };
    const off = { key: 'gleaner.mode', value: 'off' };
    await api.putAction(
      'pkg/with space',
      ECHO,
      { memory: 512 },
      { parameters: [{ key: 'bound', value: 'kept' }] },
    );
    await api.putAction('bounded', ECHO, { memory: 512 }, { annotations: [bounds] });
    await api.putAction('off', ECHO, { memory: 512 }, { annotations: [off] });
    await api.putAction('changed', ECHO, { memory: 512 });
    await api.putAction('deleted', ECHO, { memory: 512 });
    await api.put('actions/chain', { exec: { kind: 'sequence', components: ['/guest/changed'] } });

    const listed = JSON.parse((await actions('list')).out) as {
      function: string;
      ranges: { memory: unknown };
    }[];
    t.deepEqual(
      listed.map(({ function: fn }) => fn).sort(),
      ['bounded', 'chain', 'changed', 'deleted', 'off', 'pkg/with space'].map(
        (name) => `/guest/${name}`,
      ),
    );
    t.deepEqual(listed[0]?.ranges.memory, { min: 128, max: 512 });

    const done = await apply(
      ['pkg/with space', 192],
      ['bounded', 192],
      ['off', 192],
      ['changed', 192],
      ['deleted', 192],
      ['chain', 192],
      ['missing', 192],
    );
    t.deepEqual(
      done.map(({ result }) => result),
      ['changed', 'changed', 'unchanged', 'changed', 'changed', 'unchanged', 'failed'],
      JSON.stringify(done),
    );
    t.deepEqual(
      await Promise.all(['pkg/with space', 'bounded', 'off'].map(memoryOf)),
      [192, 384, 512],
    );
    // Code and parameters are what its user deployed.
    t.deepEqual((await api.invoke('pkg/with space', { x: 1 })).response.result, {
      args: { bound: 'kept', x: 1 },
    });

    // Meanwhile the owners change one and delete another: theirs stands.
    await api.putAction('changed', ECHO, { memory: 256 });
    await api.request('DELETE', 'namespaces/_/actions/deleted');
    const undone = await outcomes('undo');
    t.deepEqual(
      new Map(undone.map((one) => [one.function, one.result])),
      new Map([
        ['/guest/pkg/with space', 'undone'],
        ['/guest/bounded', 'undone'],
        ['/guest/changed', 'unchanged'],
        ['/guest/deleted', 'unchanged'],
      ]),
    );
    t.deepEqual(
      await Promise.all(['pkg/with space', 'bounded', 'changed'].map(memoryOf)),
      [512, 512, 256],
    );

    writeFileSync(keysFile, 'someone:wrong\n', { mode: 0o600 });
    t.regex((await actions('list')).err, /HTTP 401.*GLN_OPENWHISK_AUTH/);
    writeFileSync(keysFile, `${api.key}\n`, { mode: 0o600 });
    await openWhisk.stop();
    const away = await actions('list');
    t.true(away.err.includes(`${api.host}: connection refused`), away.err);
  },
);

test.serial(
  'sizes and concurrency limits are changed and restored while users invoke',
  async (t) => {
    if (openWhiskMissing(t) || onlyWithAllCases(t)) return;
    t.timeout(allowed(1_200_000));
    const { api, keysFile } = await setUp(t);
    const rightSizing = {
      everyS: 2,
      leastActivations: 8,
      leastHours: 0,
      canaries: 1,
      watchS: 0,
      watchActivations: 2,
      payBackHours: null,
    };
    const gleaner = new GleanerFixture({
      agents: {
        manager: 'greedy',
        concurrency: {
          search: 'hill-climbing',
          least: 10,
          most: 50,
          step: 10,
          holdS: 1,
          holdActivations: 10,
        },
      },
      hook: { stepActivations: 4, stepS: 1 },
      openwhisk: { apiHost: api.host, keysFile, changesPerMinute: 600, holdS: 0, rightSizing },
    });
    t.teardown(() => gleaner.stop());
    await gleaner.start();
    const asIs = { key: 'gleaner.bounds', value: { memoryMiB: { min: 256, max: 256 } } };
    await api.putAction('grows', GROW, { memory: 512 });
    await api.putAction('crowd', SLEEP, { memory: 256, concurrency: 10 }, { annotations: [asIs] });
    const child = spawn(
      process.execPath,
      ['dist/cli/main.js', '--config', gleaner.configFile, 'actions', 'follow'],
      {
        stdio: ['ignore', 'pipe', 'pipe'],
      },
    );
    t.teardown(() => child.kill('SIGKILL'));
    const follow = collected(child);
    const size = async (): Promise<number> => (await api.action('grows')).limits.memory;
    const concurrency = async (): Promise<number> => (await api.action('crowd')).limits.concurrency;

    /** Invokes until something holds. */
    const invokeUntil = async (
      what: string,
      condition: () => Promise<boolean>,
      invoke: () => Promise<unknown>,
    ) => {
      const end = Date.now() + LONG;
      while (!(await condition())) {
        if (Date.now() > end) throw new Error(`${what}\n${follow.output()}`);
        await invoke();
      }
    };
    await invokeUntil(
      'grows was not made smaller',
      async () => (await size()) < 512,
      async () => {
        t.true((await api.invoke('grows', { megabytes: 30 })).response.success);
      },
    );
    const smaller = await size();
    t.log(`right-sized to ${smaller} MB`);
    t.true(smaller >= 128);
    // One needs more than any before: its user gets the size back, and it is not tried again.
    t.false((await api.invoke('grows', { megabytes: smaller + 64 })).response.success);
    await until(async () => (await size()) === 512, LONG, 'the size is its user’s again');
    t.true((await api.invoke('grows', { megabytes: smaller + 64 })).response.success);

    const concurrentCalls = () =>
      Promise.all(Array.from({ length: 20 }, () => api.invoke('crowd')));
    await invokeUntil(
      'the limit of crowd was not tried',
      async () => (await concurrency()) !== 10,
      async () => {
        for (const { response } of await concurrentCalls()) t.true(response.success);
      },
    );
    t.log(`concurrency ${await concurrency()} was tried`);
    child.kill('SIGTERM');
    t.is(await follow.ended, 0, follow.output());
    const undo = await run(['--config', gleaner.configFile, 'actions', 'undo', '--no-dry-run']);
    t.is(undo.code, 0, undo.err);
    t.deepEqual([await size(), await concurrency()], [512, 10]);
  },
);
