import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { DockerCli, type RunSpec } from '../../../simulator/invoker-emulator/docker-cli.js';

/** A docker client that cannot be had on demand: one that hangs, breaks half-way, or is counted. */
async function withClient(
  script: string,
  body: (executable: string, read: () => string[]) => Promise<void>,
): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'gleaner-client-'));
  try {
    const executable = join(folder, 'docker');
    writeFileSync(executable, `#!/bin/sh\nLOG=${folder}/log\n${script}\n`);
    chmodSync(executable, 0o755);
    writeFileSync(join(folder, 'log'), '');
    await body(executable, () =>
      readFileSync(join(folder, 'log'), 'utf8').split('\n').filter(Boolean),
    );
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

const spec: RunSpec = {
  image: 'image',
  name: 'wsk0_1_guest_f',
  memoryMb: 256,
  cpuShares: 128,
  cpus: null,
  network: 'bridge',
  apiHost: 'http://host',
};

function worst(lines: readonly string[]): number {
  let now = 0;
  let most = 0;
  for (const line of lines) {
    now += line === 'begin' ? 1 : -1;
    most = Math.max(most, now);
  }
  return most;
}

async function runs(t: ExecutionContext, parallelRuns: number, expected: number): Promise<void> {
  await withClient(
    'echo begin >>$LOG; sleep 0.2; echo end >>$LOG; echo id',
    async (executable, read) => {
      const docker = new DockerCli({ executable, parallelRuns });
      const ids = await Promise.all([1, 2, 3, 4, 5].map(() => docker.run(spec)));
      t.deepEqual(ids, ['id', 'id', 'id', 'id', 'id']);
      t.true(worst(read()) <= expected);
      t.is(read().length, 10);
    },
  );
}

test('Starts of containers are bounded; 0 means no bound', async (t) => {
  await runs(t, 2, 2);
  await runs(t, 0, 5);
});

test('A command that hangs is ended at its time limit', async (t) => {
  await withClient('exec sleep 20', async (executable) => {
    const docker = new DockerCli({ executable, pauseTimeoutMs: 100 });
    await t.throwsAsync(docker.pause('x'), { code: 'GLN_EMULATOR_COMMAND_TIMEOUT' });
  });
});

test('A container that failed to start is removed, and the start fails', async (t) => {
  const id = 'a'.repeat(64);
  await withClient(
    `echo "$1 $3" >>$LOG; [ $1 = rm ] && exit 0; echo ${id}; exit 125`,
    async (executable, read) => {
      await t.throwsAsync(new DockerCli({ executable }).run(spec), {
        code: 'GLN_EMULATOR_COMMAND_FAILED',
      });
      t.deepEqual(read(), ['run --cpu-shares', `rm ${id}`]);
    },
  );
});

test('Logs are requested in whole seconds with one second of margin', async (t) => {
  await withClient('echo "$@"', async (executable) => {
    const docker = new DockerCli({ executable });
    // ExtendedDockerClient.collectLogs: --since and --until are epoch seconds, cut.
    t.is(await docker.logs('id', 1999, 3500), 'logs id --since 1 --until 4 --timestamps');
    t.is(
      await docker.address('id', 'bridge'),
      'inspect --format {{.NetworkSettings.Networks.bridge.IPAddress}} id',
    );
    t.deepEqual(await docker.idsByName('wsk0_'), [
      'ps --quiet --no-trunc --all --filter name=wsk0_',
    ]);
  });
});

test('A client that is not there is a failed command', async (t) => {
  const docker = new DockerCli({ executable: join(tmpdir(), 'no-such-docker') });
  await t.throwsAsync(docker.rm('id'), { code: 'GLN_EMULATOR_COMMAND_FAILED' });
});
