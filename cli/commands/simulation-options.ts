import { type Command, InvalidArgumentError, Option } from 'commander';
import { UsageError } from '../../config/index.js';
import {
  type Contender,
  contender,
  contenderNames,
  UnknownContenderError,
} from '../../experiments/compare/index.js';
import { DEFAULT_CLUSTER } from '../../simulator/engine/index.js';
import { type HostShape, resolveHosts } from '../../simulator/workload/index.js';
import { wholeNumber } from './common.js';

export function offeredLoad(text: string): number {
  const value = Number(text);
  if (text.trim() === '' || !(value > 0 && value <= 4))
    throw new InvalidArgumentError('must be above 0 and at most 4');
  return value;
}

/** Parses one of some names. */
export const oneOf =
  <Name extends string>(...names: readonly Name[]) =>
  (text: string): Name => {
    const found = names.find((name) => name === text);
    if (found === undefined) throw new InvalidArgumentError(`must be one of ${names.join(', ')}`);
    return found;
  };

/** Parses comma-separated values. */
export const listOf =
  <Value>(one: (text: string) => Value) =>
  (text: string): Value[] =>
    text.split(',').map((part) => one(part.trim()));

/** Hosts unless the command line or the workload sets others. */
const DEFAULT_HOSTS: HostShape = {
  hosts: DEFAULT_CLUSTER.hosts,
  cores: DEFAULT_CLUSTER.cores,
  memoryMiB: DEFAULT_CLUSTER.memoryMiB,
  userMemoryMiB: DEFAULT_CLUSTER.userMemoryMiB,
};

/** Ample memory, so that CPU is scarce. */
export const LARGE_HOSTS: HostShape = {
  ...DEFAULT_HOSTS,
  memoryMiB: 131_072,
  userMemoryMiB: 98_304,
};

export interface HostOptions {
  readonly hosts?: number;
  readonly cores?: number;
  /** MiB, as the options. */
  readonly memory?: number;
  readonly userMemory?: number;
}

/** `--calls` is its name in scripts of earlier versions. */
export const addActivationsOption = (command: Command, description: string): Command =>
  command
    .option('--activations <n>', description, wholeNumber)
    .addOption(new Option('--calls <n>').argParser(wholeNumber).hideHelp())
    .on('option:calls', (value: string) =>
      command.setOptionValue('activations', wholeNumber(value)),
    );

/** `defaults`: hosts of workloads that name none. */
export function addHostOptions(command: Command, defaults: HostShape = DEFAULT_HOSTS): Command {
  const otherwise = (value: number): string => `(default: as in the workload, otherwise ${value})`;
  return command
    .option('--hosts <n>', `invoker hosts ${otherwise(defaults.hosts)}`, wholeNumber)
    .option('--cores <n>', `cores of each ${otherwise(defaults.cores)}`, wholeNumber)
    .option('--memory <MiB>', `memory of each ${otherwise(defaults.memoryMiB)}`, wholeNumber)
    .option(
      '--user-memory <MiB>',
      `user-memory of each invoker ${otherwise(defaults.userMemoryMiB)}`,
      wholeNumber,
    );
}

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
      hint: 'user memory is the part of a host for containers: --user-memory, --memory',
    },
  );
}

export const MANAGERS_HINT =
  `a manager or policy (${contenderNames().join(', ')}), ` +
  'or a manager, a policy for ranges and one for weights, joined by +';

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
