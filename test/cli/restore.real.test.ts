import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'ava';
import { configSchema } from '../../config/index.js';
import { emptyLimits } from '../../openwhisk-plugin/host/ports/index.js';
import { cgroupWriter, containerEngine } from '../../runtime/wiring/host-platform.js';
import { IDLE, runContainer } from '../openwhisk-plugin/host/cgroup/real-containers.js';
import { gleaner } from '../support/gleaner.js';
import { docker, dockerAlone, missing } from '../support/real-parts.js';
import { allowed } from '../support/slowness.js';
import { temporaryFolder } from '../support/temporary-folder.js';

const PREFIX = 'wskglrst0';

test.serial(
  'a restore names what it cannot see, and finds a renamed container by id',
  async (t) => {
    if (missing(t, dockerAlone)) return;
    t.timeout(allowed(120_000));
    const name = `${PREFIX}_1_guest_f`;
    const id = await runContainer(name, IDLE, ['--cpu-shares', '256']);
    t.teardown(() => docker('rm', '-f', id));
    const { hook } = configSchema.parse({ hook: { containerPrefix: PREFIX } });
    const engine = containerEngine(hook);
    const writer = cgroupWriter(await engine.facts());
    const [container] = await engine.snapshot();
    const handle = writer.open(container!);
    t.teardown(async () => {
      handle.close();
      await writer.close();
      await engine.stop();
    });
    const now = (): number => {
      const limits = emptyLimits();
      handle.read(limits);
      return limits.shares;
    };
    const lend = (): void => {
      handle.setShares(4096);
      // v2 weights are coarse.
      t.true(now() > 1024);
    };
    const state = temporaryFolder('restore');
    const options = ['--set', `hook.stateDir=${state}`, '--set', `hook.containerPrefix=${PREFIX}`];
    const restore = [...options, 'restore', '--local', '-o', 'json'];
    const rowOf = (out: string) => JSON.parse(out).hosts[0] as Record<string, unknown>;
    lend();

    // Without the host's processes no cgroup is found.
    const program = [process.execPath, 'dist/cli/main.js', ...restore];
    const blind = spawnSync('unshare', ['-pf', '--mount-proc', ...program], { encoding: 'utf8' });
    t.is(blind.status, 1);
    t.regex(String(rowOf(blind.stdout).result), new RegExp(`not restored: ${name} `));
    t.true(now() > 1024);

    docker('rename', name, `${name.replace(PREFIX, 'other')}`);
    t.regex(String(rowOf((await gleaner(restore)).out).result), /^0 containers examined/);
    t.true(now() > 1024);
    writeFileSync(join(state, 'limited-containers'), `${'0'.repeat(64)}\n${id}\n`);
    const { code, out } = await gleaner(restore);
    t.is(code, 0);
    t.regex(
      String(rowOf(out).result),
      /^1 containers examined: all have their user limits; 1 of them had other limits/,
    );
    t.is(now(), 256);
    t.regex(String(rowOf((await gleaner(restore)).out).result), /^1 containers examined: all/);

    // Whatever is wrong with the configuration, limits that a killed hook left are restored.
    const file = join(state, 'gleaner.yaml');
    const good = `hook: { stateDir: ${state}, containerPrefix: ${PREFIX}`;
    const local = ['--config', file, 'restore', '--local', '-o', 'json'];
    for (const [text, env] of [
      [`${good}, bogus: 1 }`, {}],
      [`${good} }`, { GLEANER_HOOK_SAMPLEMS: 'abc' }],
    ] as const) {
      writeFileSync(file, text);
      lend();
      const damaged = await gleaner(local, env);
      t.is(damaged.code, 0, damaged.err);
      t.regex(damaged.err, /GLN_CONFIG_INVALID[\s\S]*restoring nevertheless/);
      t.is(now(), 256);
    }
  },
);
