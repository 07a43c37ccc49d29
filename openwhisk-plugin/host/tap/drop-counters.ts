/** Packets that tcpdump did not get, as its counters say. */
export interface Drops {
  /** Newly dropped because the capture's buffer was full: the tap missed them. */
  kernel: number;
  /**
   * Newly dropped by the network interface. That counter is of all its traffic, whatever the filter
   * passes, and libpcap reads it as a difference that may go backward (pcap_stats(3PCAP):
   * "ps_ifdrop"), so it says nothing of what the tap missed.
   */
  interface: number;
  /** Counters that cannot be believed; they change nothing. */
  ignored: number;
}

const KERNEL = /(?:^|[\s,])(\d+) packets? dropped by kernel/g;
const INTERFACE = /(?:^|[\s,])(\d+) packets? dropped by interface/g;
const ANY = /dropped by (?:kernel|interface)/g;
/** tcpdump counts in 32 bits; a step of more than half of them is a step back, or garbage. */
const WRAP = 2 ** 32;
const FARTHEST = 2 ** 31;

/**
 * Follows the counters of one tcpdump process, which it prints when asked (SIGUSR1) and when it
 * ends.
 */
export class DropCounters {
  #kernel = 0;
  #interface = 0;

  /** New drops according to a line; null where the line holds no counters. */
  read(line: string): Drops | null {
    const named = line.match(ANY)?.length ?? 0;
    if (named === 0) return null;
    const drops: Drops = { kernel: 0, interface: 0, ignored: 0 };
    let readable = 0;
    for (const [, text] of line.matchAll(KERNEL)) {
      readable++;
      const more = newer(this.#kernel, Number(text));
      if (more < 0) drops.ignored++;
      else {
        drops.kernel += more;
        this.#kernel = Number(text);
      }
    }
    for (const [, text] of line.matchAll(INTERFACE)) {
      readable++;
      const more = newer(this.#interface, Number(text));
      if (more < 0) drops.ignored++;
      else {
        drops.interface += more;
        this.#interface = Number(text);
      }
    }
    drops.ignored += named - readable;
    return drops;
  }
}

/** How far a 32-bit counter has gone on; -1 where it cannot have. */
function newer(before: number, now: number): number {
  if (!(now < WRAP)) return -1;
  const step = (now - before + WRAP) % WRAP;
  return step < FARTHEST ? step : -1;
}
