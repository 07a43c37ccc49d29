/**
 * Runs the commands of the pages as printed, page after page, in one folder with one running
 * Gleaner (the demo of `npm start`). A comment before a block can exclude it (pages.ts).
 */
import { type ChildProcess, spawn } from 'node:child_process';
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join, resolve } from 'node:path';
import test from 'ava';
import { gleaner, until } from '../support/gleaner.js';
import { missing } from '../support/real-parts.js';
import { allowed } from '../support/slowness.js';
import { blocksOf, commandPages } from './pages.js';

/** Entries of the checkout that a command may use; it writes to its own folder. */
const LINKED = [
  'bench',
  'config',
  'deploy',
  'dist',
  'docs',
  'node_modules',
  'package.json',
  'package-lock.json',
  'scripts',
  'simulator',
];
const MAX_MILLIS = 60_000;

interface Ran {
  readonly code: number | null;
  readonly output: string;
}

/** A disposable checkout with `gleaner` and `nats` on the PATH. */
class Workspace {
  readonly folder = mkdtempSync(join(tmpdir(), 'gleaner-docs-'));
  readonly #environment: NodeJS.ProcessEnv;
  readonly #children = new Set<ChildProcess>();

  constructor() {
    const programs = join(this.folder, '.programs');
    mkdirSync(programs);
    for (const name of LINKED) symlinkSync(resolve(name), join(this.folder, name));
    const command = (name: string, script: string): void => {
      writeFileSync(
        join(programs, name),
        `#!/bin/sh\nexec '${process.execPath}' '${resolve(script)}' "$@"\n`,
      );
      chmodSync(join(programs, name), 0o755);
    };
    command('gleaner', 'dist/cli/main.js');
    // Stands in for npx, which takes half a second to find this checkout's `gleaner`.
    writeFileSync(
      join(programs, 'npx'),
      '#!/bin/sh\n[ "$1 $2" = "-- gleaner" ] || exit 127\nshift 2\nexec gleaner "$@"\n',
      {
        mode: 0o755,
      },
    );
    command('nats', join(import.meta.dirname, 'nats-command.js'));
    this.#environment = {
      ...process.env,
      PATH: `${programs}${delimiter}${process.env.PATH}${delimiter}/usr/sbin`,
      // The pages tell the reader to export this.
      GLEANER_CONFIG: 'config/demo.yaml',
    };
  }

  set natsUrl(url: string) {
    this.#environment.NATS_URL = url;
  }

  start(
    command: string,
    args: readonly string[],
    options: { detached?: boolean } = {},
  ): ChildProcess {
    const child = spawn(command, args, {
      ...options,
      cwd: this.folder,
      env: this.#environment,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    this.#children.add(child);
    child.on('exit', () => this.#children.delete(child));
    return child;
  }

  /** Runs bash until the first command that fails; interrupts it once its output contains `end`. */
  run(script: string, end: string | null): Promise<Ran> {
    return new Promise((done) => {
      const child = this.start('bash', ['-e', '-o', 'pipefail', '-c', script], { detached: true });
      const signal = (name: NodeJS.Signals): void => void process.kill(-child.pid!, name);
      const late = setTimeout(() => signal('SIGKILL'), MAX_MILLIS);
      let output = '';
      let asked = false;
      for (const stream of [child.stdout, child.stderr])
        stream?.on('data', (chunk) => {
          output += chunk;
          if (asked || end === null || !output.includes(end)) return;
          asked = true;
          signal('SIGINT');
        });
      child.on('close', (code) => {
        clearTimeout(late);
        done({ code, output });
      });
    });
  }

  async clear(): Promise<void> {
    await Promise.all(
      [...this.#children].map((child) => {
        const ended = new Promise((resolve) => child.on('exit', resolve));
        child.kill('SIGTERM');
        return ended;
      }),
    );
    rmSync(this.folder, { recursive: true, force: true });
  }
}

test.serial('every command of the pages succeeds', async (t) => {
  if (
    missing(t, [
      ['nats-server', '--version'],
      ['bash', '--version'],
      ['timeout', '--version'],
      ['openssl', 'version'],
    ])
  )
    return;
  t.timeout(allowed(240_000));
  const blocks = commandPages()
    .flatMap((page) => blocksOf(page))
    .filter(({ language }) => language === 'sh');
  t.true(blocks.length > 25);
  const workspace = new Workspace();
  t.teardown(() => workspace.clear());
  // The default step of the mean field is 10 s, too long for a test.
  const faster = ['agents', 'aggregator'].flatMap((part) => ['--set', `${part}.intervalMs=1000`]);
  const up = workspace.start('gleaner', [...faster, 'up', '--plain']);
  let said = '';
  for (const stream of [up.stdout, up.stderr]) stream?.on('data', (chunk) => (said += chunk));
  const config = [
    '--config',
    join(workspace.folder, 'config/demo.yaml'),
    '--set',
    `hook.stateDir=${join(workspace.folder, '.gleaner')}`,
  ];
  const knows = async (): Promise<boolean> => {
    const { code, out } = await gleaner([...config, 'functions', '-o', 'json']);
    const rows = code === 0 ? (JSON.parse(out) as { name: string; activations: number }[]) : [];
    return rows.some(({ name, activations }) => name === '/guest/dh' && activations > 0);
  };
  await until(knows, 90_000, `/guest/dh has been called: ${said}`);
  const { servers } = JSON.parse(
    readFileSync(join(workspace.folder, '.gleaner/up.json'), 'utf8'),
  ) as {
    servers: string[];
  };
  workspace.natsUrl = servers[0]!;

  const wrong: string[] = [];
  let ran = 0;
  for (const block of blocks) {
    const { marking, page, line, text } = block;
    const where = `${page}:${line}`;
    if (marking.kind === 'skip') {
      t.log(`not run: ${where}: ${marking.reason}`);
      continue;
    }
    const begun = performance.now();
    const { code, output } = await workspace.run(
      text,
      marking.kind === 'interrupt' ? marking.at : null,
    );
    ran++;
    t.log(`${where}: ${((performance.now() - begun) / 1000).toFixed(1)} s`);
    const fine = code === 0 || (marking.kind === 'exit 0 or 1' && code === 1);
    if (!fine) wrong.push(`${where} ended with ${code}:\n${text}\n${output.slice(-2000)}`);
    if (up.exitCode !== null)
      wrong.push(`${where}: Gleaner itself has ended: ${said.slice(-2000)}`);
  }
  t.deepEqual(wrong, []);
  t.true(ran > 15);
  // Once by npx itself.
  const { PATH = '' } = process.env;
  const { code, output } = await workspace.run(
    `PATH='${PATH}' npx --offline -- gleaner status`,
    null,
  );
  t.is(code, 0, output);
});
