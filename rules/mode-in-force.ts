import type { Mode } from '../config/index.js';

interface Managed {
  readonly mode: Mode;
  readonly paused?: boolean;
  /** The host's kill switch holds. */
  readonly killed: boolean;
}

/** A mode as it is shown: a kill switch or a pause keeps it from having an effect. */
export const modeInForce = ({ mode, paused, killed }: Managed): Mode | 'stopped' | 'paused' =>
  killed ? 'stopped' : paused ? 'paused' : mode;

const NAMED_HOSTS = 3;

/** Where the kill switch holds and by which sources, in one sentence; empty: on no host. */
export function killSwitchText(
  hosts: readonly {
    readonly host: string;
    readonly killed: boolean;
    readonly killedBy: readonly string[];
  }[],
): string {
  const held = hosts.filter(({ killed }) => killed);
  if (held.length === 0) return '';
  const named = held
    .slice(0, NAMED_HOSTS)
    .map(({ host, killedBy }) => `${host} (${killedBy.join(', ')})`);
  if (held.length > NAMED_HOSTS) named.push(`${held.length - NAMED_HOSTS} more`);
  const where = named.join(', ');
  return `the kill switch holds on ${where}: user limits apply until it is released`;
}

export const RELEASE_HINT =
  '`gleaner restore --release` releases the file, with --all or --host the others';
