import { spawn } from 'node:child_process';
import { lstatSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'ava';
import { stringify } from 'yaml';
import { freePort } from '../support/free-port.js';
import { collected, until } from '../support/gleaner.js';
import { temporaryFolder } from '../support/temporary-folder.js';
import { seriesOf } from './metrics/exposition.js';

/**
 * In the part's own process, as code of its own would: on SIGPWR a rejection, on SIGWINCH an
 * exception.
 */
const FAULTS = `data:text/javascript,${encodeURIComponent(`
  process.on('SIGWINCH', () => setTimeout(() => { throw new Error('a made exception'); }));
  process.on('SIGPWR', () => void Promise.reject(new Error('a made rejection')));
`)}`;

for (const part of ['hook', 'agents', 'aggregator', 'dashboard'] as const)
  test(`${part}: no debugger on SIGUSR1, survives a rejection, ends by an exception`, async (t) => {
    const folder = temporaryFolder(`faults-${part}`);
    const config = join(folder, 'gleaner.yaml');
    const port = await freePort();
    const metrics = { hook: null, agents: null, aggregator: null };
    writeFileSync(
      config,
      stringify({
        platform: 'simulated',
        hook: { stateDir: folder },
        metrics: part === 'dashboard' ? metrics : { ...metrics, [part]: `127.0.0.1:${port}` },
        dashboard: { listen: part === 'dashboard' ? `127.0.0.1:${port}` : null },
        nats: { servers: part === 'hook' ? [] : ['nats://127.0.0.1:1'] },
        log: { level: 'info' },
      }),
    );
    const child = spawn(
      process.execPath,
      ['--import', FAULTS, 'dist/cli/main.js', '--config', config, part],
      {
        stdio: ['ignore', 'pipe', 'pipe'],
        // Made on purpose: not to be counted by `npm test`.
        env: { ...process.env, GLEANER_TEST_FAULTS: '' },
      },
    );
    const { output, ended } = collected(child);
    const page = async (path: string): Promise<string> => {
      try {
        const response = await fetch(`http://127.0.0.1:${port}${path}`);
        const text = await response.text();
        return response.ok ? text : '';
      } catch {
        return '';
      }
    };
    const own = part === 'dashboard' ? '/' : '/readyz';
    await until(async () => (await page(own)) !== '', 60_000, 'it runs');
    // Without a listener Node opens its inspector, to which every local user can connect.
    child.kill('SIGUSR1');
    await until(() => output().includes('SIGUSR1'), 10_000, 'the signal is reported');
    t.notRegex(output(), /Debugger listening/);
    child.kill('SIGPWR');
    await until(() => output().includes('a made rejection'), 10_000, 'told');
    t.regex(output(), /"event":"unhandled_rejection"/);
    t.not(await page(own), '', 'it goes on');
    if (part !== 'dashboard') {
      await new Promise((resolve) => setTimeout(resolve, 300));
      const series = seriesOf(await page('/metrics'));
      t.is(series.get('gleaner_process_faults_total{kind="unhandled_rejection"}'), 1);
      t.is(series.get('gleaner_process_faults_total{kind="uncaught_exception"}'), 0);
    }
    child.kill('SIGWINCH');
    t.is(await ended, 1);
    t.regex(output(), /"event":"uncaught_exception".*a made exception/);
    // Only an orderly end of the hook releases its lock.
    if (part === 'hook') t.throws(() => lstatSync(join(folder, 'hook.lock')), { code: 'ENOENT' });
  });
