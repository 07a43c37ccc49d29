import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ExecutionContext } from 'ava';
import type { Config } from '../../../config/index.js';
import type { RunningHook } from '../../../openwhisk-plugin/daemon/run-hook.js';
import type { ActionBody } from '../../../simulator/invoker-emulator/images/actions.js';
import {
  type Action,
  actionSource,
  ensureActionImage,
  InvokerEmulator,
} from '../../../simulator/invoker-emulator/index.js';
import type { InvokerOptions } from '../../../simulator/invoker-emulator/invoker-emulator.js';
import { docker } from '../../support/real-parts.js';
import { realHookConfig, startRealHook } from './real-hook.js';

export const action = (body: ActionBody, more: Partial<Action> = {}): Action => ({
  namespace: 'guest',
  name: body,
  version: '0.0.1',
  ...actionSource(body),
  memoryMb: 256,
  ...more,
});

/** What the kernel has in force for a container. */
export interface InForce {
  /** us of a period of 100 ms, -1 = none. */
  readonly quota: number;
  /** On v2 the weight. */
  readonly shares: number;
  /** Bytes; swap beyond the memory limit. */
  readonly memory: number;
  readonly swap: number;
}

/** Reads and writes a container's limits past the hook. */
export interface ControlGroup {
  read(): InForce;
  write(quotaMicros: number, shares: number): void;
}

const V1 = {
  cpu: '/sys/fs/cgroup/cpu',
  memory: '/sys/fs/cgroup/memory',
  quota: 'cpu.cfs_quota_us',
  shares: 'cpu.shares',
  limit: 'memory.limit_in_bytes',
  swap: 'memory.memsw.limit_in_bytes',
};
const V2 = {
  cpu: '/sys/fs/cgroup',
  memory: '/sys/fs/cgroup',
  quota: 'cpu.max',
  shares: 'cpu.weight',
  limit: 'memory.max',
  swap: 'memory.swap.max',
};

export function groupOf(id: string): ControlGroup {
  const isV1 = existsSync(V1.cpu);
  const pid = docker('inspect', '--format', '{{.State.Pid}}', id);
  const lines = readFileSync(`/proc/${pid}/cgroup`, 'utf8').trim().split('\n');
  const pathOf = (controller: string): string => {
    const own = lines.find((line) => !isV1 || line.split(':')[1]!.split(',').includes(controller));
    return own!.split(':').at(-1)!;
  };
  const files = isV1 ? V1 : V2;
  const cpu = join(files.cpu, pathOf('cpu'));
  const memory = join(files.memory, pathOf('memory'));
  const number = (folder: string, file: string): number => {
    const [first] = readFileSync(join(folder, file), 'utf8').trim().split(' ');
    return first === 'max' ? -1 : Number(first);
  };
  return {
    read: () => {
      const limit = number(memory, files.limit);
      const swap = number(memory, files.swap);
      return {
        quota: number(cpu, files.quota),
        shares: number(cpu, files.shares),
        memory: limit,
        swap: isV1 ? swap - limit : swap,
      };
    },
    write: (quotaMicros, shares) => {
      writeFileSync(join(cpu, files.quota), String(quotaMicros));
      writeFileSync(join(cpu, files.shares), String(shares));
    },
  };
}

/** The shares of the user; on v2 the weight that systemd was given for the container. */
export function userShares(id: string): number {
  if (existsSync(V1.cpu))
    return Number(docker('inspect', '--format', '{{.HostConfig.CpuShares}}', id));
  const unit = ['show', `docker-${id}.scope`, '--property=CPUWeight', '--value'];
  return Number(execFileSync('systemctl', unit, { encoding: 'utf8' }));
}

/** An invoker of 2 GB and a hook that enforces on its containers, until the test has ended. */
export async function together(
  t: ExecutionContext,
  prefix: string,
  options: Partial<InvokerOptions>,
  body: (emulator: InvokerEmulator, hook: RunningHook) => Promise<void>,
  configure: (config: Config) => void = () => undefined,
): Promise<void> {
  const image = await ensureActionImage();
  const config = realHookConfig(prefix);
  configure(config);
  const hook = await startRealHook(t, config);
  const emulator = new InvokerEmulator({ image, prefix, userMemoryMb: 2048, ...options });
  t.teardown(() => emulator.stop());
  await sleep(500);
  await emulator.start();
  await body(emulator, hook);
}

export const counters = (hook: RunningHook): Record<string, number> =>
  hook.inspect().counters as Record<string, number>;

/** All states of a container's limits from the call until its result. */
export async function watched<T>(
  id: string,
  call: Promise<T>,
): Promise<{ result: T; seen: InForce[] }> {
  const seen: InForce[] = [];
  const group = groupOf(id);
  let over = false;
  const done = call.finally(() => {
    over = true;
  });
  while (!over) {
    seen.push(group.read());
    await sleep(4);
  }
  return { result: await done, seen };
}
