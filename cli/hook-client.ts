import { z } from 'zod';
import { type Broker, callEveryInstance, services } from '../broker/index.js';
import { type Millis, millis } from '../config/index.js';
import type { FunctionLine, HostLine } from './live-model.js';

const number = z.number().catch(0);
const text = z.string().catch('');
const maybe = z.number().nullable().catch(null);

/** What is shown of a host; anything a newer or older hook says differently is shown as nothing, never a reason to fail. */
const hostSchema = z.looseObject({
  host: text,
  mode: text,
  platform: text,
  killed: z.boolean().catch(false),
  cpu: number,
  memory: number,
  poolCpu: number,
  poolMemory: number,
  activations: number,
  running: number,
});

const functionSchema = z.looseObject({
  name: z.string(),
  mode: text,
  activations: number,
  running: number,
  containers: number,
  cpuMode: z.enum(['quota', 'weight']).catch('weight'),
  userCpu: number,
  userMemory: number,
  userShares: number,
  cpu: number,
  memory: number,
  shares: number,
  harvestedCpuSeconds: number,
  harvestedMebibyteSeconds: number,
  acceleratedCpuSeconds: number,
  savedSeconds: number,
  borrowedMemory: number,
  p99: maybe,
  slo: maybe,
  safeguard: text,
});

const inspectionSchema = z.looseObject({ host: hostSchema, functions: z.array(functionSchema).catch([]) });

export interface HookAnswer {
  readonly host: HostLine;
  readonly functions: readonly FunctionLine[];
  readonly platform: string;
  /** All of the answer, for `--output json`. */
  readonly raw: unknown;
}

/** What each hook says of its host and functions; hooks that do not answer, or not in time, are left out. */
export async function inspectHooks(broker: Broker, wait: Millis = millis(300)): Promise<HookAnswer[]> {
  const answers = await callEveryInstance(broker, { service: services.hook, endpoint: 'inspect', wait });
  const hooks: HookAnswer[] = [];
  for (const answer of answers.values()) {
    const parsed = inspectionSchema.safeParse(answer);
    if (parsed.success) {
      const { host, functions } = parsed.data;
      hooks.push({ host, functions, platform: host.platform, raw: answer });
    }
  }
  return hooks.sort((a, b) => a.host.host.localeCompare(b.host.host));
}
