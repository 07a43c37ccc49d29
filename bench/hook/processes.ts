import { readdirSync, readFileSync } from 'node:fs';

/** Clock ticks a second in /proc; 100 on every Linux that Node runs on. */
const TICKS = 100;

interface Process {
  readonly pid: number;
  readonly parent: number;
  readonly command: string;
  readonly cpuMillis: number;
}

function read(pid: number): Process | null {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    const command = readFileSync(`/proc/${pid}/cmdline`, 'latin1').replaceAll('\0', ' ');
    const ticks = Number(fields[11]) + Number(fields[12]);
    return { pid, parent: Number(fields[1]), command, cpuMillis: (ticks * 1000) / TICKS };
  } catch {
    return null;
  }
}

/** The process and all below it. */
export function family(root: number): Process[] {
  const all: Process[] = [];
  for (const name of readdirSync('/proc')) {
    const found = /^\d+$/.test(name) ? read(Number(name)) : null;
    if (found) all.push(found);
  }
  const members = new Set([root]);
  for (let before = 0; before !== members.size; ) {
    before = members.size;
    for (const process of all) if (members.has(process.parent)) members.add(process.pid);
  }
  return all.filter((process) => members.has(process.pid));
}

/** CPU time used so far by the hook and its tcpdump children, ms. */
export function hookCpuMillis(root: number): { hook: number; tcpdump: number } {
  let hook = 0;
  let tcpdump = 0;
  for (const process of family(root)) {
    if (process.command.startsWith('tcpdump ') || process.command.includes('/tcpdump '))
      tcpdump += process.cpuMillis;
    else if (/main\.js hook\b/.test(process.command)) hook += process.cpuMillis;
  }
  return { hook, tcpdump };
}
