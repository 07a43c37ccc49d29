import { execFile, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { ImageBuildError } from '../errors.js';

const run = promisify(execFile);

/** The program inside, as compiled. */
export const ACTION_PROXY = fileURLToPath(new URL('./action-proxy.js', import.meta.url));

/** Repository of the images made here; the tag is a hash of the content. */
const IMAGE_REPOSITORY = 'gleaner-action-nodejs';

/**
 * Makes the action image of this host's node, its shared libraries and the action proxy; one that
 * is there already is kept. No registry, no base image. @returns the image's name and tag
 */
export async function ensureActionImage(): Promise<string> {
  const proxy = readFileSync(ACTION_PROXY);
  const node = process.execPath;
  try {
    const libraries = parseLdd((await run('ldd', [node])).stdout);
    const tag = contentHash([node, ...libraries], proxy);
    const name = `${IMAGE_REPOSITORY}:${tag}`;
    const found = await run('docker', ['image', 'inspect', '--format', '{{.Id}}', name]).catch(
      () => null,
    );
    if (!found) await build(name, node, libraries, proxy);
    return name;
  } catch (error) {
    throw new ImageBuildError('the action image could not be made', error);
  }
}

/** Paths that ldd prints, the loader included. */
export function parseLdd(text: string): string[] {
  const paths = new Set<string>();
  for (const line of text.split('\n')) {
    const match = /(?:=>\s+)?(\/\S+)\s+\(0x[0-9a-f]+\)/.exec(line);
    if (match?.[1]) paths.add(match[1]);
  }
  return [...paths];
}

/** Sizes stand for binaries: hashing 100 MB takes longer than the answer is worth. */
function contentHash(files: readonly string[], proxy: Buffer): string {
  const hash = createHash('sha256')
    .update(process.version)
    .update(proxy)
    .update(IMAGE_CONFIG.join('\n'));
  for (const file of files) hash.update(`${file}:${statSync(file).size}\n`);
  return hash.digest('hex').slice(0, 16);
}

/** Concurrency is up to the action's limit, as in an installation that sets it for its runtimes. */
const IMAGE_CONFIG = [
  'ENV PATH=/bin',
  'ENV __OW_ALLOW_CONCURRENT=true',
  'WORKDIR /action',
  'EXPOSE 8080',
  'ENTRYPOINT ["/bin/node", "/action/proxy.mjs"]',
];

async function build(
  name: string,
  node: string,
  libraries: readonly string[],
  proxy: Buffer,
): Promise<void> {
  const root = mkdtempSync(join(tmpdir(), 'gleaner-image-'));
  try {
    const copy = (from: string, to: string): void => {
      mkdirSync(dirname(join(root, to)), { recursive: true });
      copyFileSync(from, join(root, to));
    };
    copy(node, '/bin/node');
    for (const library of libraries) copy(library, library);
    for (const folder of ['tmp', 'action', 'etc', 'root'])
      mkdirSync(join(root, folder), { recursive: true });
    writeFileSync(join(root, 'action/proxy.mjs'), proxy);
    writeFileSync(join(root, 'etc/passwd'), 'root:x:0:0:root:/root:/bin/false\n');
    await importFolder(name, root);
  } finally {
    rmSync(root, { recursive: true, force: true });
  }
}

function importFolder(name: string, root: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const changes = IMAGE_CONFIG.flatMap((line) => ['--change', line]);
    const pack = spawn(
      'tar',
      ['-C', root, '--numeric-owner', '--owner=0', '--group=0', '-cf', '-', '.'],
      {
        stdio: ['ignore', 'pipe', 'inherit'],
      },
    );
    const load = spawn('docker', ['import', ...changes, '-', name], {
      stdio: ['pipe', 'ignore', 'pipe'],
    });
    let errors = '';
    load.stderr.setEncoding('utf8').on('data', (text: string) => {
      errors += text;
    });
    pack.on('error', reject);
    load.on('error', reject);
    load.stdin.on('error', () => undefined);
    pack.stdout.pipe(load.stdin);
    load.on('close', (status) => {
      if (status === 0) resolve();
      else reject(new Error(`docker import ended with ${status}: ${errors}`));
    });
  });
}
