const MAX_LEARNED = 4;

/**
 * From whom a request counts: the bridges' own addresses and the invokers', configured or learned.
 * Never a container that runs functions: user code can call its neighbors.
 */
export class Sources {
  readonly #configured: ReadonlySet<number>;
  #gateways: ReadonlySet<number> = new Set();
  readonly #learned = new Set<number>();
  readonly #isContainer: (address: number) => boolean;

  constructor(configured: readonly number[], isContainer: (address: number) => boolean) {
    this.#configured = new Set(configured);
    this.#isContainer = isContainer;
  }

  setGateways(addresses: readonly number[]): void {
    this.#gateways = new Set(addresses);
  }

  allows(address: number): boolean {
    return (
      this.#gateways.has(address) || this.#configured.has(address) || this.#learned.has(address)
    );
  }

  /** It may turn out to be an invoker's. Nothing is learned once invokers are configured. */
  mayLearn(address: number): boolean {
    return (
      this.#configured.size === 0 && this.#learned.size < MAX_LEARNED && !this.#isContainer(address)
    );
  }

  learn(address: number): boolean {
    if (!this.mayLearn(address)) return false;
    this.#learned.add(address);
    return true;
  }

  forget(address: number): void {
    this.#learned.delete(address);
  }
}
