/**
 * The virtual time of each tight host. It passes at the level, so the work done by a sharing
 * activation is weight x virtual time whatever the level is. Level 0: none shares and it stands
 * still.
 */
export class VirtualTime {
  declare readonly level: Float64Array;
  /** Its value at `since`, when it was last marked. */
  declare readonly marked: Float64Array;
  declare readonly since: Float64Array;

  constructor(hosts: number) {
    this.level = new Float64Array(hosts);
    this.marked = new Float64Array(hosts);
    this.since = new Float64Array(hosts);
  }

  at(host: number, now: number): number {
    return this.marked[host]! + this.level[host]! * (now - this.since[host]!);
  }

  /** Microseconds from now until it is `virtual`, while the level stays; it must not be 0. */
  until(host: number, virtual: number, now: number): number {
    return (virtual - this.at(host, now)) / this.level[host]!;
  }

  /** Before the level changes. */
  mark(host: number, now: number): void {
    this.marked[host] = this.at(host, now);
    this.since[host] = now;
  }

  /** The host becomes tight. */
  restart(host: number): void {
    this.marked[host] = 0;
    this.level[host] = 0;
  }
}
