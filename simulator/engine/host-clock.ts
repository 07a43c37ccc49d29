/**
 * The next event of each host and which is first: a tournament tree in typed arrays, each node with
 * the host that won it and that host's time. A change takes log2(hosts) comparisons; at equal times
 * the lower host goes first, so runs repeat.
 */
export class HostClock {
  declare private readonly leaves: number;
  declare private readonly winner: Int32Array;
  declare private readonly at: Float64Array;

  constructor(hosts: number) {
    let leaves = 1;
    while (leaves < hosts) leaves *= 2;
    this.leaves = leaves;
    this.at = new Float64Array(2 * leaves).fill(Number.POSITIVE_INFINITY);
    this.winner = new Int32Array(2 * leaves);
    for (let i = 0; i < leaves; i++) this.winner[leaves + i] = i;
    for (let i = leaves - 1; i > 0; i--) this.winner[i] = this.winner[2 * i]!;
  }

  /** Host with the earliest event. */
  get first(): number {
    return this.winner[1]!;
  }

  /** Its time, us; Infinity if no host awaits anything. */
  get firstAt(): number {
    return this.at[1]!;
  }

  set(host: number, at: number): void {
    const times = this.at;
    const winner = this.winner;
    let node = this.leaves + host;
    let won = host;
    let wonAt = at;
    while (times[node] !== wonAt || winner[node] !== won) {
      times[node] = wonAt;
      winner[node] = won;
      if (node === 1) return;
      const sibling = node ^ 1;
      const other = times[sibling]!;
      if (other < wonAt || (other === wonAt && sibling < node)) {
        won = winner[sibling]!;
        wonAt = other;
      }
      node >>= 1;
    }
  }
}
