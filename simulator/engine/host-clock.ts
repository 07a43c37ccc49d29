/**
 * The next event of each host and which is first: a tournament tree in a typed array. A change
 * takes log2(hosts) comparisons; at equal times the lower host goes first, so runs repeat.
 */
export class HostClock {
  readonly #leaves: number;
  readonly #winner: Int32Array;
  readonly #at: Float64Array;

  constructor(hosts: number) {
    let leaves = 1;
    while (leaves < hosts) leaves *= 2;
    this.#leaves = leaves;
    this.#at = new Float64Array(leaves).fill(Number.POSITIVE_INFINITY);
    this.#winner = new Int32Array(2 * leaves);
    for (let i = 0; i < leaves; i++) this.#winner[leaves + i] = i;
    for (let i = leaves - 1; i > 0; i--) this.#winner[i] = this.#winner[2 * i]!;
  }

  /** Host with the earliest event. */
  get first(): number {
    return this.#winner[1]!;
  }

  /** Its time, us; Infinity where no host awaits anything. */
  get firstAt(): number {
    return this.#at[this.#winner[1]!]!;
  }

  at(host: number): number {
    return this.#at[host]!;
  }

  set(host: number, at: number): void {
    if (this.#at[host] === at) return;
    const times = this.#at;
    const winner = this.#winner;
    times[host] = at;
    let node = (this.#leaves + host) >> 1;
    while (node > 0) {
      const left = winner[2 * node]!;
      const right = winner[2 * node + 1]!;
      const won = times[right]! < times[left]! ? right : left;
      // Another host was first here and still is: nothing above can change.
      if (won === winner[node] && won !== host) return;
      winner[node] = won;
      node >>= 1;
    }
  }
}
