import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'ava';
import { findProgram } from '../../cli/doctor/survey.js';
import { gleaner, processesWith, startUp, until } from '../support/gleaner.js';

/** False (and loud) where a real part is missing; in CI that is a failure. */
function has(program: string): boolean {
  if (findProgram(program) !== null) return true;
  if (process.env.CI) throw new Error(`${program} is missing`);
  console.warn(`SKIPPED: ${program} is missing`);
  return false;
}

const demo = {
  mode: 'enforce',
  platform: 'simulated',
  agents: { manager: 'simppo' },
  decision: { policy: { quota: 'target' }, targetStaleMs: 300_000 },
  simulator: { speed: 20 },
};

interface Listed {
  readonly name: string;
  readonly activations: number;
  readonly harvestedCpuSeconds: number;
  readonly acceleratedCpuSeconds: number;
}

test.serial(
  'gleaner up runs every part, answers requests, and leaves nothing behind',
  async (t) => {
    if (!has('nats-server')) return t.pass();
    const up = startUp(demo);
    t.teardown(up.clean);
    // Users run the bundle of queries; where coverage is measured commands would take the modules.
    const ask = (...args: string[]) =>
      gleaner(['--config', up.config, ...args], { NODE_V8_COVERAGE: '' });
    /** Its output, where it must end with this code; else the test says which command it was. */
    const expect = async (expected: number, ...args: string[]): Promise<string> => {
      const { code, out, err } = await ask(...args);
      t.is(code, expected, `${args.join(' ')}: ${out}${err}`);
      return out;
    };
    const functions = async (): Promise<Listed[]> => {
      const { code, out } = await ask('functions', '--output', 'json');
      return code === 0 ? (JSON.parse(out) as Listed[]) : [];
    };
    let seen: Listed[] = [];
    await until(
      async () => {
        seen = await functions();
        return (
          seen.some((row) => row.harvestedCpuSeconds > 0) &&
          seen.some((row) => row.acceleratedCpuSeconds > 0)
        );
      },
      60_000,
      'a function harvested and another accelerated',
    );

    // On a busy machine one of them may answer too late to be listed; then it is the next time.
    await until(
      async () => {
        const { code, out } = await ask('status', '-o', 'json');
        if (code !== 0) return false;
        const { services, hosts } = JSON.parse(out) as {
          services: { service: string }[];
          hosts: unknown[];
        };
        const names = new Set(services.map(({ service }) => service));
        return (
          [...names].join() === 'gleaner-agents,gleaner-aggregator,gleaner-hook' &&
          hosts.length === 1
        );
      },
      20_000,
      'all three services in the status',
    );
    t.regex((await ask('status')).out, /^SERVICE +HOST +VERSION/);
    t.regex((await ask('functions')).out, /^FUNCTION +MODE +ACTIVATIONS/);

    // Another one in the same folder would take the first one's address away from the command line.
    const second = await ask('up', '--plain', '--for', '1');
    t.is(second.code, 1);
    t.regex(second.err, new RegExp(`already runs .*process ${up.child.pid}.*GLN_ALREADY_UP`));
    await expect(0, 'status');

    const busiest = seen.reduce((a, b) => (a.activations > b.activations ? a : b)).name;
    t.regex(await expect(0, 'explain', busiest), /ACTIVATION +TOOK +PEAK CORES +GRANTED CORES/);
    await expect(1, 'explain', '/guest/no-such');
    await expect(2, 'explain', 'nonsense');
    await expect(2, 'explain', busiest, '--last', 'x');

    await expect(0, 'mode', 'observe', '--reason', 'a test');
    await until(async () => (await ask('mode')).out.includes('observe'), 10_000, 'mode observe');
    await expect(0, 'mode', 'enforce', '--function', busiest);
    await expect(0, 'mode', 'default');
    await until(
      async () => (await ask('mode')).out.includes('enforce'),
      10_000,
      'mode as configured',
    );

    // One function is paused on every host, and stays so while the mode changes.
    const paused = async (name: string): Promise<boolean | undefined> => {
      const { code, out } = await ask('functions', '-o', 'json');
      if (code !== 0) return undefined;
      return (JSON.parse(out) as { name: string; paused: boolean }[]).find(
        (row) => row.name === name,
      )?.paused;
    };
    await expect(0, 'pause', busiest, '--reason', 'a test');
    await until(async () => (await paused(busiest)) === true, 5000, 'paused');
    await expect(0, 'mode', 'recommend', '--function', busiest);
    await expect(0, 'mode', 'default', '--function', busiest);
    await until(async () => (await paused(busiest)) === true, 5000, 'paused still');
    await expect(0, 'resume', busiest, '-o', 'json');
    await until(async () => (await paused(busiest)) === false, 5000, 'managed again');
    await expect(2, 'pause', 'nonsense');

    const agents = await expect(0, 'agents', 'list', '-o', 'json');
    t.is(
      (JSON.parse(agents) as { functions: { manager: string }[] }[])[0]?.functions[0]?.manager,
      'simppo',
    );
    t.regex((await ask('agents', 'list')).out, /^FUNCTION +AGENT HOST +MANAGER +PHASE/);
    t.regex((await ask('agents', 'explain', busiest)).out, /STEP +PHASE +INVOKER/);
    await expect(1, 'agents', 'explain', '/guest/no-such');
    await expect(0, 'retrain', busiest);
    t.regex(
      (await ask('meanfield')).out,
      /INVOKER HOST +DEMAND CORES +AVAILABLE CORES +OCCUPIED CPU % +PRICE CPU/,
    );
    await expect(0, 'meanfield', '-o', 'json');
    const top = await expect(0, 'top', '--once', '-o', 'json');
    t.is((JSON.parse(top) as { platform: string }).platform, 'simulated');
    // On a busy machine the first line may come too late for one short look.
    await until(
      async () => /^mode enforce {2}functions/.test((await ask('top', '--for', '2')).out),
      30_000,
      'a line of top',
    );
    const events = await expect(0, 'events', '--for', '3', '-o', 'json');
    const eventMessages = events
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as { kind: string; v: number });
    t.true(eventMessages.length > 0 && eventMessages.every(({ v }) => v === 1));
    await expect(2, 'events', '--kind', 'nonsense');
    t.regex((await ask('audit', '-n', '3')).out, /^AT +WHO +WHY +FUNCTION/);

    t.regex(await expect(0, 'restore', '--all'), /containers examined: all have their user limits/);
    const held = await ask('restore', '--hold');
    t.regex(held.out, /kill switch set \(.*\): user limits apply until --release/);
    await until(
      async () => /\bstopped\b/.test((await ask('functions')).out),
      10_000,
      'functions say that it is stopped',
    );
    await expect(0, 'restore', '--release');
    await expect(2, 'restore', '--release', '--hold');
    await expect(2, 'restore', '--all', '--local');
    await expect(1, 'restore', '--host', 'no-such');

    up.child.kill('SIGHUP');
    up.child.kill('SIGINT');
    // A second signal changes nothing: npm and a terminal both send one.
    up.child.kill('SIGTERM');
    t.is(await up.ended, 0, up.output());
    t.regex(up.output(), /harvested .* borrowed .* saved .*SLO (kept|learning)/);
    t.regex(up.output(), /all user limits are restored/);
    t.deepEqual(processesWith(up.folder), []);
    const away = await ask('status');
    t.is(away.code, 1);
    t.regex(away.err, /GLN_NATS_UNKNOWN/);
  },
);

test.serial('killed parts are restarted, and a killed supervisor ends all of them', async (t) => {
  if (!has('nats-server')) return t.pass();
  const up = startUp(demo);
  t.teardown(up.clean);
  const part = (name: string) =>
    processesWith(up.folder).find(({ args }) => args.includes(name))?.pid;
  await until(() => up.output().includes('activations'), 20_000, 'a first line');
  for (const name of ['main.js hook', 'main.js agents', 'main.js aggregator', 'nats-server']) {
    const pid = part(name);
    t.truthy(pid, name);
    process.kill(pid!, 'SIGKILL');
    await until(() => part(name) !== undefined && part(name) !== pid, 5000, `${name} again`);
  }
  await until(
    async () => (await gleaner(['--config', up.config, 'status'])).out.includes('gleaner-hook'),
    15_000,
    'the hook answers',
  );
  process.kill(up.child.pid!, 'SIGKILL');
  await up.ended;
  await until(() => processesWith(up.folder).length === 0, 5000, 'no process is left');
  t.pass();
});

test.serial(
  'the kill switch works without NATS, and SIGHUP reloads a valid configuration only',
  async (t) => {
    if (!has('nats-server')) return t.pass();
    const up = startUp(demo);
    t.teardown(up.clean);
    const ask = (...args: string[]) => gleaner(['--config', up.config, ...args]);
    const host = async (): Promise<{ mode: string; killed: boolean } | undefined> => {
      const { code, out } = await ask('mode', '-o', 'json');
      return code === 0
        ? (JSON.parse(out) as { hosts: { mode: string; killed: boolean }[] }).hosts[0]
        : undefined;
    };
    await until(async () => (await host())?.mode === 'enforce', 20_000, 'the hook answers');
    const before = readFileSync(up.config, 'utf8');
    writeFileSync(up.config, before.replace('mode: enforce', 'mode: nonsense'));
    up.child.kill('SIGHUP');
    await until(
      () => up.output().includes('the configuration is unchanged'),
      5000,
      'the error is reported',
    );
    // The hook may read its file last, and a command refuses a file with problems.
    const valid = join(up.folder, 'valid.yaml');
    writeFileSync(valid, before);
    const rejected = /the configuration is unchanged: .*mode: must be one of .*nonsense/;
    const status = async () => (await gleaner(['--config', valid, 'status'])).out;
    await until(async () => rejected.test(await status()), 10_000, 'status names the error');
    writeFileSync(up.config, before.replace('mode: enforce', 'mode: observe'));
    up.child.kill('SIGHUP');
    await until(async () => (await host())?.mode === 'observe', 10_000, 'mode observe');
    t.notRegex((await ask('status')).out, rejected);

    const nats = processesWith(up.folder).find(({ args }) => args.includes('nats-server'))!;
    process.kill(nats.pid, 'SIGSTOP');
    const held = await ask('restore', '--hold');
    t.is(held.code, 0, held.err);
    await until(
      () => up.output().includes('kill switch on: every user limit is restored'),
      2000,
      'the hook reports the kill switch',
    );
    process.kill(nats.pid, 'SIGCONT');
    await until(
      async () => (await host())?.killed === true,
      15_000,
      'the view shows the kill switch',
    );
    t.is((await ask('restore', '--release')).code, 0);
    await until(async () => (await host())?.killed === false, 5000, 'the kill switch is released');
    up.child.kill('SIGTERM');
    t.is(await up.ended, 0, up.output());
  },
);

test.serial(
  'an invalid configuration is reported with every problem and exit code 2',
  async (t) => {
    const up = startUp({ ...demo, simulator: { speed: -1, sped: 2 } });
    t.teardown(up.clean);
    t.is(await up.ended, 2);
    t.regex(up.output(), /simulator\.speed: must be above 0/);
    t.regex(up.output(), /simulator\.sped: no such key; did you mean speed\?/);
    const check = await gleaner(['--config', up.config, 'config', 'check', '-o', 'json']);
    t.is(check.code, 2);
    t.is((JSON.parse(check.out) as { problems: unknown[] }).problems.length, 2);
  },
);

test.serial('config, doctor and help answer without anything running', async (t) => {
  t.is((await gleaner(['config', 'check'])).code, 0);
  const printed = await gleaner(['--set', 'hook.sampleMs=50', 'config', 'print'], {
    GLEANER_MODE: 'observe',
  });
  t.regex(printed.out, /# mode: GLEANER_MODE\n# hook\.sampleMs: flag hook\.sampleMs\n/);
  const json = await gleaner(['--set', 'hook.sampleMs=50', 'config', 'print', '-o', 'json']);
  t.is(
    (JSON.parse(json.out) as { config: { hook: { sampleMs: number } } }).config.hook.sampleMs,
    50,
  );
  const docker = spawnSync('docker', ['version'], { stdio: 'ignore' }).status === 0;
  const doctor = await gleaner(['doctor', '-o', 'json']);
  const { findings } = JSON.parse(doctor.out) as { findings: { check: string; level: string }[] };
  t.is(findings.find(({ check }) => check === 'engine')?.level, docker ? 'ok' : 'fail');
  t.regex((await gleaner(['doctor'])).out, /CHECK +FOUND/);
  t.regex((await gleaner(['--version'])).out, /^gleaner \d+\.\d+\.\d+/);
  t.is((await gleaner(['upp'])).code, 2);
  t.is((await gleaner(['--help'])).code, 0);
});
