import { readdirSync, readFileSync } from 'node:fs';

interface Process {
  readonly pid: number;
  readonly parent: number;
  readonly name: string;
  readonly state: string;
  readonly args: readonly string[];
}

function processes(): Process[] {
  const found: Process[] = [];
  for (const entry of readdirSync('/proc')) {
    if (!/^\d+$/.test(entry)) continue;
    try {
      const stat = readFileSync(`/proc/${entry}/stat`, 'utf8');
      const [state = '', parent = ''] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
      found.push({
        pid: Number(entry),
        parent: Number(parent),
        name: stat.slice(stat.indexOf('(') + 1, stat.lastIndexOf(')')),
        state,
        args: readFileSync(`/proc/${entry}/cmdline`, 'utf8').split('\0'),
      });
    } catch {
      // It ended while we looked.
    }
  }
  return found;
}

export type Part = 'hook' | 'tcpdump' | 'agents' | 'aggregator' | 'nats-server';

export const PARTS: readonly Part[] = ['hook', 'agents', 'aggregator', 'nats-server', 'tcpdump'];

/**
 * Processes of one part of the `gleaner up` whose process id is given: one, or two
 * tcpdumps per bridge.
 */
export function pidsOf(part: Part, up: number): number[] {
  const all = processes().filter(({ state }) => state !== 'Z');
  const children = all.filter((each) => each.parent === up);
  const command = (each: Process): boolean => each.args.includes(part, 1);
  if (part === 'nats-server')
    return children.filter((each) => each.name === part).map((each) => each.pid);
  if (part !== 'tcpdump') return children.filter(command).map((each) => each.pid);
  const hook = pidsOf('hook', up);
  return all
    .filter((each) => each.name === 'tcpdump' && hook.includes(each.parent))
    .map((each) => each.pid);
}

export function isAlive(pid: number): boolean {
  return processes().some((each) => each.pid === pid && each.state !== 'Z');
}
