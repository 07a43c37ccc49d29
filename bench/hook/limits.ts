import { request } from 'node:http';
import { bytes, micros, millicores } from '../../config/index.js';
import { quantile } from '../../experiments/statistics.js';
import { CgroupLimitWriter } from '../../openwhisk-plugin/host/cgroup/index.js';
import { DockerEngine } from '../../openwhisk-plugin/host/docker/index.js';
import type { ContainerInfo } from '../../openwhisk-plugin/host/ports/index.js';
import { CFS_PERIOD_MICROS } from '../../rules/index.js';
import { type BenchRow, none, row } from '../report.js';
import { type BenchContainer, noopContainers } from './containers.js';

/**
 * A change of a quota by the limit writer (with read-back), against the Engine's update of the same
 * container.
 */
export async function benchLimits(): Promise<BenchRow[]> {
  const { containers, remove } = await noopContainers(1);
  try {
    const [container] = containers as [BenchContainer];
    const { times: ours, refused } = writerTimes(container, await cgroupVersion(), 20_000);
    const engine: number[] = [];
    for (let i = 0; i < 150; i++)
      engine.push(await engineUpdate(container.id, i % 2 === 0 ? 0.5 : 0.75));
    return [
      row('hook.limit.p50', quantile(ours, 0.5), 'us', { baseline: quantile(engine, 0.5) }),
      row('hook.limit.p99', quantile(ours, 0.99), 'us', {
        baseline: quantile(engine, 0.99),
        goal: '<= 100, <= 0.01x',
        note: `${ours.length} changes; baseline: ${engine.length} Engine updates in the same run`,
      }),
      none(
        'hook.limit.refused',
        refused,
        'writes',
        'a write that the kernel does not take is not a change of a limit',
      ),
    ];
  } finally {
    await remove();
  }
}

async function cgroupVersion(): Promise<1 | 2> {
  const engine = new DockerEngine({ managed: () => false });
  try {
    return (await engine.facts()).cgroupVersion;
  } finally {
    engine.close();
  }
}

function writerTimes(
  container: BenchContainer,
  cgroupVersion: 1 | 2,
  count: number,
): { readonly times: readonly number[]; readonly refused: number } {
  const info: ContainerInfo = {
    id: container.id,
    name: 'wskglb0_1_guest_noop',
    address: container.address,
    bridge: 'docker0',
    pid: container.pid,
    startedAt: micros(0),
    paused: false,
    user: {
      shares: 128,
      quota: millicores(2000),
      memory: bytes(268435456),
      memoryAndSwap: bytes(268435456),
      periodMicros: CFS_PERIOD_MICROS,
    },
  };
  const writer = new CgroupLimitWriter({ cgroupVersion });
  const handle = writer.open(info);
  const times: number[] = [];
  let refused = 0;
  for (let i = 0; i < count + 1000; i++) {
    const quota = millicores(i % 2 === 0 ? 400 : 700);
    const begun = performance.now();
    const result = handle.setQuota(quota);
    const took = (performance.now() - begun) * 1000;
    if (result !== 'written') refused++;
    if (i >= 1000) times.push(took);
  }
  handle.close();
  return { times, refused };
}

/**
 * What `docker update` asks of the Engine. Only the bench does this: the product never writes to
 * the Engine. us
 */
function engineUpdate(id: string, cores: number): Promise<number> {
  return new Promise((resolve, reject) => {
    const begun = performance.now();
    const call = request(
      {
        socketPath: '/var/run/docker.sock',
        method: 'POST',
        path: `/containers/${id}/update`,
        headers: { 'Content-Type': 'application/json' },
      },
      (response) => {
        response.resume();
        response.on('end', () => {
          if (response.statusCode === 200) resolve((performance.now() - begun) * 1000);
          else reject(new Error(`the Engine answered ${response.statusCode} to an update`));
        });
      },
    );
    call.on('error', reject);
    call.end(JSON.stringify({ NanoCpus: cores * 1e9 }));
  });
}
