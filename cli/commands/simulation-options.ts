import { type Command, InvalidArgumentError } from 'commander';
import {
  type Contender,
  contender,
  contenderNames,
  DEFAULT_CLUSTER,
  UnknownContenderError,
} from '../../simulator/index.js';
import { UsageError } from '../exit.js';

export function wholeNumber(text: string): number {
  if (!/^\d{1,9}$/.test(text) || Number(text) < 1) throw new InvalidArgumentError('must be a whole number from 1 on');
  return Number(text);
}

export function offeredLoad(text: string): number {
  const value = Number(text);
  if (text.trim() === '' || !(value > 0 && value <= 4)) throw new InvalidArgumentError('must be above 0 and at most 4');
  return value;
}

/** Values between commas. */
export const listOf =
  <Value>(one: (text: string) => Value) =>
  (text: string): Value[] =>
    text.split(',').map((part) => one(part.trim()));

/** Hosts as `gleaner simulate` and `gleaner compare` have them unless told otherwise. */
export const DEFAULT_HOSTS = {
  hosts: DEFAULT_CLUSTER.hosts,
  cores: DEFAULT_CLUSTER.cores,
  memory: DEFAULT_CLUSTER.memoryMiB,
  userMemory: DEFAULT_CLUSTER.userMemoryMiB,
} as const;

export interface HostOptions {
  readonly hosts: number;
  readonly cores: number;
  readonly memory: number;
  readonly userMemory: number;
}

/** The options of {@link HostOptions}. `which` says whose hosts. */
export function addHostOptions(
  command: Command,
  which: string,
  { memory, userMemory }: Pick<HostOptions, 'memory' | 'userMemory'> = DEFAULT_HOSTS,
): Command {
  return command
    .option('--hosts <n>', which, wholeNumber, DEFAULT_HOSTS.hosts)
    .option('--cores <n>', 'cores of each', wholeNumber, DEFAULT_HOSTS.cores)
    .option('--memory <MiB>', 'memory of each', wholeNumber, memory)
    .option('--user-memory <MiB>', "memory for containers on each: OpenWhisk's user-memory", wholeNumber, userMemory);
}

/** @throws UsageError */
export function checkHosts({ memory, userMemory }: HostOptions): void {
  if (userMemory <= memory) return;
  throw new UsageError(`--user-memory ${userMemory} is more than --memory ${memory}`, {
    hint: 'user memory is the part of a host that OpenWhisk gives to containers',
  });
}

export const MANAGERS_HINT = `a manager or policy by name: ${contenderNames().join(', ')}; joined by + a manager, a policy for ranges and one for weights`;

/** A contender named on a command line. @throws UsageError */
export function namedContender(name: string): Contender {
  try {
    return contender(name);
  } catch (error) {
    if (error instanceof UnknownContenderError) throw new UsageError(error.message, { hint: error.hint });
    throw error;
  }
}
