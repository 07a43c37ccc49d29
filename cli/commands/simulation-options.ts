import { type Command, InvalidArgumentError } from 'commander';
import { UsageError } from '../../config/index.js';
import {
  type Contender,
  contender,
  contenderNames,
  UnknownContenderError,
} from '../../experiments/compare/index.js';
import { DEFAULT_CLUSTER } from '../../simulator/engine/index.js';
import { type HostShape, resolveHosts } from '../../simulator/workload/index.js';

export function wholeNumber(text: string): number {
  if (!/^\d{1,9}$/.test(text) || Number(text) < 1)
    throw new InvalidArgumentError('must be a whole number from 1 on');
  return Number(text);
}

export function offeredLoad(text: string): number {
  const value = Number(text);
  if (text.trim() === '' || !(value > 0 && value <= 4))
    throw new InvalidArgumentError('must be above 0 and at most 4');
  return value;
}

/** Values between commas. */
export const listOf =
  <Value>(one: (text: string) => Value) =>
  (text: string): Value[] =>
    text.split(',').map((part) => one(part.trim()));

/** Hosts where neither the command line nor the workload says anything. */
const DEFAULT_HOSTS: HostShape = {
  hosts: DEFAULT_CLUSTER.hosts,
  cores: DEFAULT_CLUSTER.cores,
  memoryMiB: DEFAULT_CLUSTER.memoryMiB,
  userMemoryMiB: DEFAULT_CLUSTER.userMemoryMiB,
};

/** With so much memory CPU is what is scarce. */
export const LARGE_HOSTS: HostShape = {
  ...DEFAULT_HOSTS,
  memoryMiB: 131_072,
  userMemoryMiB: 98_304,
};

export interface HostOptions {
  readonly hosts?: number;
  readonly cores?: number;
  readonly memory?: number;
  readonly userMemory?: number;
}

/**
 * The options of {@link HostOptions}; `defaults` count for workloads that name no hosts of their
 * own.
 */
export function addHostOptions(command: Command, defaults: HostShape = DEFAULT_HOSTS): Command {
  const otherwise = (value: number): string => `(default: the workload's own, else ${value})`;
  return command
    .option('--hosts <n>', `invoker hosts ${otherwise(defaults.hosts)}`, wholeNumber)
    .option('--cores <n>', `cores of each ${otherwise(defaults.cores)}`, wholeNumber)
    .option('--memory <MiB>', `memory of each ${otherwise(defaults.memoryMiB)}`, wholeNumber)
    .option(
      '--user-memory <MiB>',
      `memory for containers on each: OpenWhisk's user-memory ${otherwise(defaults.userMemoryMiB)}`,
      wholeNumber,
    );
}

/** What the command line says of hosts. */
export const hostOptions = ({
  hosts,
  cores,
  memory,
  userMemory,
}: HostOptions): Partial<HostShape> => ({
  hosts,
  cores,
  memoryMiB: memory,
  userMemoryMiB: userMemory,
});

/** Hosts of a run of `workload`. @throws UsageError */
export function hostsOf(
  workload: string,
  options: HostOptions,
  defaults: HostShape = DEFAULT_HOSTS,
): HostShape {
  const shape = resolveHosts(workload, hostOptions(options), defaults);
  if (shape.userMemoryMiB <= shape.memoryMiB) return shape;
  throw new UsageError(
    `user memory of ${shape.userMemoryMiB} MiB is more than the ${shape.memoryMiB} MiB of a host`,
    {
      hint: 'user memory is the part of a host that OpenWhisk gives to containers: --user-memory, --memory',
    },
  );
}

export const MANAGERS_HINT = `a manager or policy by name: ${contenderNames().join(', ')}; joined by + a manager, a policy for ranges and one for weights`;

/** A contender named on a command line. @throws UsageError */
export function namedContender(name: string): Contender {
  try {
    return contender(name);
  } catch (error) {
    if (error instanceof UnknownContenderError)
      throw new UsageError(error.message, { hint: error.hint });
    throw error;
  }
}
