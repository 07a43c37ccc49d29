import { spawnSync } from 'node:child_process';
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { ENGINE_LOCKS } from '../../openwhisk-plugin/host/lock/index.js';

/** What deploy/container/run.sh gives to `docker run`. */
function runs(
  t: ExecutionContext,
  command: readonly string[] = [],
  settings: Readonly<Record<string, string>> = {},
): string {
  const folder = mkdtempSync(join(tmpdir(), 'gleaner-run-'));
  t.teardown(() => rmSync(folder, { recursive: true, force: true }));
  writeFileSync(join(folder, 'docker'), '#!/bin/sh\n[ "$1" != run ] || echo "$@"\n');
  chmodSync(join(folder, 'docker'), 0o755);
  const { status, stdout } = spawnSync('sh', ['deploy/container/run.sh', 'image', ...command], {
    encoding: 'utf8',
    env: { ...process.env, ...settings, PATH: `${folder}:${process.env.PATH}` },
  });
  t.is(status, 0);
  return stdout.trim();
}

test('a hook in a container is followed by a restore and starts again', (t) => {
  const line = runs(t);
  t.regex(line, /^run --restart unless-stopped --entrypoint sh /);
  t.regex(line, / image \/opt\/gleaner\/current\/deploy\/container\/hook\.sh$/);
});

test('another command in a container runs once', (t) => {
  const line = runs(t, ['restore', '--local']);
  t.regex(line, /^run --rm .* image restore --local$/);
  t.notRegex(line, /--restart|--entrypoint/);
});

test('a container has as long to stop and to restore as the unit gives to both', (t) => {
  const unit = readFileSync('deploy/systemd/gleaner-hook.service', 'utf8');
  // For the stop and for ExecStopPost each.
  const seconds = 2 * Number(/^TimeoutStopSec=(\d+)$/m.exec(unit)?.[1]);
  t.regex(runs(t), new RegExp(` --stop-timeout ${seconds} `));
  for (const file of ['helm/gleaner/templates/hook.yaml', 'kubernetes/gleaner.yaml'])
    t.regex(
      readFileSync(`deploy/${file}`, 'utf8'),
      new RegExp(`^ +terminationGracePeriodSeconds: ${seconds}$`, 'm'),
    );
});

test("each deployment has the host's folder of engine locks, with any state folder", (t) => {
  for (const GLEANER_STATE of ['/var/lib/gleaner', '/srv/gleaner']) {
    const line = runs(t, [], { GLEANER_STATE });
    t.true(line.includes(` --volume ${GLEANER_STATE}:/var/lib/gleaner `), line);
    t.true(line.includes(` --volume ${ENGINE_LOCKS}:${ENGINE_LOCKS} `), line);
  }
  const read = (file: string): string => readFileSync(`deploy/${file}`, 'utf8');
  for (const file of ['helm/gleaner/templates/hook.yaml', 'kubernetes/gleaner.yaml']) {
    for (const key of ['mountPath:', 'hostPath:\\n +path:'])
      t.regex(read(file), new RegExp(`- name: locks\\n +${key} ${ENGINE_LOCKS}\\n`), file);
  }
  // A folder that root's unit can write to even with another hook.stateDir.
  t.regex(read('systemd/gleaner-hook.service'), /^StateDirectory=gleaner$/m);
  t.is(dirname(ENGINE_LOCKS), '/var/lib/gleaner');
});
