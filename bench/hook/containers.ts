import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { ensureActionImage } from '../../simulator/invoker-emulator/index.js';
import { sendRun } from './http-load.js';

const run = promisify(execFile);

export interface BenchContainer {
  readonly id: string;
  readonly address: string;
  readonly pid: number;
}

/**
 * Initialized no-op containers as an invoker makes them, with a quota of two cores, so that a no-op
 * is over-provisioned. Named `wskglb0_…`; `remove` takes them away.
 */
export async function noopContainers(
  count: number,
): Promise<{ containers: BenchContainer[]; remove: () => Promise<void> }> {
  const image = await ensureActionImage();
  const ids: string[] = [];
  const remove = async (): Promise<void> => {
    if (ids.length > 0) await run('docker', ['rm', '-f', ...ids]);
  };
  try {
    const containers: BenchContainer[] = [];
    for (let i = 0; i < count; i++) {
      const { stdout } = await run('docker', [
        ...[
          'run',
          '-d',
          '--cpu-shares',
          '128',
          '--cpus',
          '2',
          '--memory',
          '256m',
          '--memory-swap',
          '256m',
        ],
        ...['--network', 'bridge', '--name', `wskglb0_${i + 1}_guest_noop`, '--pids-limit', '1024'],
        ...[
          '--cap-drop',
          'NET_RAW',
          '--cap-drop',
          'NET_ADMIN',
          '--ulimit',
          'nofile=1024:1024',
          image,
        ],
      ]);
      const id = stdout.trim();
      ids.push(id);
      const format = '{{.NetworkSettings.IPAddress}} {{.State.Pid}}';
      const [address, pid] = (await run('docker', ['inspect', '--format', format, id])).stdout
        .trim()
        .split(' ');
      await initialize(address!);
      containers.push({ id, address: address!, pid: Number(pid) });
    }
    return { containers, remove };
  } catch (error) {
    await remove();
    throw error;
  }
}

/** A no-op that can also compute and sleep, so that the hook learns a peak from long windows. */
const CODE = `function main({ computeMs = 0, sleepMs = 0 }) {
  if (computeMs + sleepMs === 0) return {};
  const end = process.cpuUsage().user + computeMs * 1000;
  while (process.cpuUsage().user < end);
  return new Promise((resolve) => setTimeout(() => resolve({}), sleepMs));
}`;

/** Sends `/init` with the no-op as soon as the container answers. */
export async function initialize(address: string): Promise<void> {
  const [code, main] = [CODE, 'main'];
  const body = JSON.stringify({ value: { name: 'noop', binary: false, main, code, env: {} } });
  const request = Buffer.from(
    [
      'POST /init HTTP/1.1',
      `Host: ${address}:8080`,
      'Content-Type: application/json',
      `Content-Length: ${Buffer.byteLength(body)}`,
      '',
      body,
    ].join('\r\n'),
  );
  for (let tries = 0; tries < 1200; tries++) {
    if ((await sendRun(address, request)).ok) return;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  throw new Error(`the action container at ${address} does not answer /init`);
}
