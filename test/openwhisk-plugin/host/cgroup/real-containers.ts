import { execFile, spawn } from 'node:child_process';
import { rmdirSync } from 'node:fs';
import { promisify } from 'node:util';
import { allowed } from '../../../support/slowness.js';

const run = promisify(execFile);

/** Everything these tests make begins so, and nothing else is touched. */
const PREFIX = 'glcg_';
const IMAGE = `${PREFIX}node`;

/** An image of this host's own node and the libraries it needs; made once. */
export async function nodeImage(): Promise<string> {
  const { stdout: found } = await run('docker', ['images', '-q', IMAGE]);
  if (found.trim() !== '') return IMAGE;
  const { stdout: sleepPath } = await run('sh', ['-c', 'command -v sleep']);
  const programs = [process.execPath, sleepPath.trim()];
  const { stdout } = await run('ldd', programs);
  const libraries = [...stdout.matchAll(/(\/[^\s():]+)/g)].map((match) => match[1] as string);
  const files = [...new Set([...programs, ...libraries])].map((path) => path.slice(1));
  await new Promise<void>((resolve, reject) => {
    const tar = spawn('tar', ['-C', '/', '-chf', '-', ...files], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const load = spawn('docker', ['import', '-', IMAGE], {
      stdio: [tar.stdout, 'ignore', 'inherit'],
    });
    load.on('exit', (code) =>
      code === 0 ? resolve() : reject(new Error(`docker import ended with ${code}`)),
    );
  });
  return IMAGE;
}

let counter = 0;

export const containerName = (label: string): string =>
  `${PREFIX}${process.pid}_${++counter}_${label}`;

/** `docker run -d` of a node program with OpenWhisk's flags; the name. */
export async function runContainer(
  name: string,
  program: string,
  flags: readonly string[] = [],
): Promise<string> {
  const image = await nodeImage();
  const limits =
    flags.length > 0 ? flags : ['--cpu-shares', '128', '--memory', '256m', '--memory-swap', '256m'];
  const { stdout } = await run('docker', [
    'run',
    '-d',
    '--name',
    name,
    ...limits,
    image,
    process.execPath,
    '-e',
    program,
  ]);
  return stdout.trim();
}

/** As many containers as wanted, of a program that needs next to nothing. */
export async function runIdleContainers(names: readonly string[]): Promise<void> {
  const image = await nodeImage();
  const { stdout: sleepPath } = await run('sh', ['-c', 'command -v sleep']);
  // Until the last has started and been used. They also end if nothing removes them.
  const program = [sleepPath.trim(), String(allowed(600))];
  const limits = [
    '--cpu-shares',
    '64',
    '--memory',
    '128m',
    '--memory-swap',
    '128m',
    '--network',
    'none',
  ];
  const waiting = [...names];
  const one = async (): Promise<void> => {
    for (let name = waiting.pop(); name !== undefined; name = waiting.pop()) {
      await run('docker', ['run', '-d', '--name', name, ...limits, image, ...program]);
    }
  };
  await Promise.all([one(), one(), one()]);
}

/** The engine leaves a `--cgroup-parent` behind. */
export function removeParent(directories: readonly string[]): void {
  for (const directory of directories) {
    try {
      rmdirSync(directory);
    } catch {
      // Another hierarchy, or not there: nothing of ours.
    }
  }
}

export const IDLE = 'setInterval(() => {}, 1000)';

export async function docker(...args: string[]): Promise<string> {
  return (await run('docker', args, { timeout: allowed(60_000) })).stdout.trim();
}

export async function removeContainers(names: readonly string[]): Promise<void> {
  if (names.length > 0) await run('docker', ['rm', '-f', ...names]).catch(() => {});
}

export const sleep = (ms: number): Promise<void> =>
  new Promise((resolve) => setTimeout(resolve, ms));

export async function eventually(
  test: () => boolean | Promise<boolean>,
  within = 10_000,
): Promise<boolean> {
  const until = Date.now() + allowed(within);
  while (Date.now() < until) {
    if (await test()) return true;
    await sleep(20);
  }
  return false;
}
