/** Packets that tcpdump did not get, according to its counters. */
export interface Drops {
  /** Newly dropped because the capture's buffer was full: the tap missed them. */
  kernel: number;
  /**
   * Newly dropped by the network interface, whatever the filter passes, and as a difference that
   * may be negative (pcap_stats(3PCAP)): it does not show what the tap missed.
   */
  interface: number;
  /** Implausible counters, which change nothing. */
  ignored: number;
}

const COUNTER = /(?:^|[\s,])(\d+) packets? dropped by (kernel|interface)/g;
const ANY = /dropped by (?:kernel|interface)/g;
/** tcpdump counts in 32 bits; a step of more than half of them is a step back, or garbage. */
const WRAP = 2 ** 32;
const FARTHEST = 2 ** 31;

/** Follows the counters of one tcpdump process, which it prints on SIGUSR1 and when it ends. */
export class DropCounters {
  readonly #last = { kernel: 0, interface: 0 };

  /** New drops according to a line; null if the line has no counters. */
  read(line: string): Drops | null {
    const named = line.match(ANY)?.length ?? 0;
    if (named === 0) return null;
    const drops: Drops = { kernel: 0, interface: 0, ignored: named };
    for (const [, text, by] of line.matchAll(COUNTER)) {
      const counter = by as 'kernel' | 'interface';
      const step = stepOf(this.#last[counter], Number(text));
      if (step === null) continue;
      drops.ignored--;
      drops[counter] += step;
      this.#last[counter] = Number(text);
    }
    return drops;
  }
}

/** Growth of a 32-bit counter; null if it is implausible. */
function stepOf(before: number, now: number): number | null {
  if (!(now < WRAP)) return null;
  const step = (now - before + WRAP) % WRAP;
  return step < FARTHEST ? step : null;
}
