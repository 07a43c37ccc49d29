import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'ava';
import { SystemdScope } from '../../../openwhisk-plugin/cgroup/systemd-scope.js';
import { systemctl } from '../../../openwhisk-plugin/index.js';

/** A `systemctl` on the PATH that writes down its arguments, one a line; no systemd runs where these tests do. */
test.serial('A2-09: systemctl is run with these arguments, without a shell', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'glcg-systemctl-'));
  const before = process.env.PATH;
  try {
    writeFileSync(join(folder, 'systemctl'), `#!/bin/sh\nprintf '%s\\n' "$@" > ${folder}/arguments\n`);
    chmodSync(join(folder, 'systemctl'), 0o755);
    process.env.PATH = `${folder}:${before}`;
    await systemctl.set('docker-$(id).scope', ['MemoryMax=1', 'MemorySwapMax=0']);
    t.deepEqual(readFileSync(join(folder, 'arguments'), 'utf8').trim().split('\n'), [
      'set-property',
      '--runtime',
      '--',
      'docker-$(id).scope',
      'MemoryMax=1',
      'MemorySwapMax=0',
    ]);
    writeFileSync(join(folder, 'systemctl'), '#!/bin/sh\necho "Unit x.scope not loaded." >&2\nexit 1\n');
    await t.throwsAsync(systemctl.set('x.scope', ['MemoryMax=1']), { message: /not loaded/ });
  } finally {
    process.env.PATH = before;
    rmSync(folder, { recursive: true, force: true });
  }
});

test('on v1 systemd knows the memory limit alone; none is infinity', async (t) => {
  const calls: (readonly string[])[] = [];
  const properties = { set: async (_unit: string, each: readonly string[]) => void calls.push(each) };
  new SystemdScope('a.scope', 1, properties, (error) => t.fail(String(error))).memory(1024, 0);
  new SystemdScope('a.scope', 2, properties, (error) => t.fail(String(error))).memory(
    Number.POSITIVE_INFINITY,
    Number.POSITIVE_INFINITY,
  );
  t.deepEqual(calls, [['MemoryLimit=1024'], ['MemoryMax=infinity', 'MemorySwapMax=infinity']]);
});
