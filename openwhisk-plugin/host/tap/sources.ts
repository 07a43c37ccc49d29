import { addressOf } from '../ports/index.js';

/** More invokers than this do not call one host while their requests last. */
const MAX_LEARNED = 16;

/** IPv4 addresses from `first` to `last`, both included. */
export interface AddressRange {
  readonly first: number;
  readonly last: number;
}

/** From `10.1.2.3` or `10.1.2.0/24`; an empty range from anything else. */
export function rangeOf(text: string): AddressRange {
  const [dotted = '', bits = '32'] = text.split('/');
  const address = addressOf(dotted);
  const size = 2 ** (32 - Number(bits));
  const first = address - (address % size);
  return { first, last: first + size - 1 };
}

/**
 * The sources whose requests count: the bridges' own addresses and the invokers', configured or
 * learned. Never a container that runs functions: user code can call its neighbors.
 *
 * An invoker's pod has another address after each restart, so a learned address that was silent for
 * longer than a request can last gives way to a new one.
 */
export class Sources {
  readonly #configured: readonly AddressRange[];
  readonly #isContainer: (address: number) => boolean;
  readonly #silence: number;
  #gateways: ReadonlySet<number> = new Set();
  /** Time of the last request by address, us. */
  readonly #learned = new Map<number, number>();

  /** @param silence after which a learned address may be replaced, us */
  constructor(
    configured: readonly AddressRange[],
    isContainer: (address: number) => boolean,
    silence: number,
  ) {
    this.#configured = configured;
    this.#isContainer = isContainer;
    this.#silence = silence;
  }

  setGateways(addresses: readonly number[]): void {
    this.#gateways = new Set(addresses);
  }

  allows(address: number): boolean {
    return (
      this.#gateways.has(address) ||
      this.#learned.has(address) ||
      (this.#configured.some(({ first, last }) => address >= first && address <= last) &&
        !this.#isContainer(address))
    );
  }

  /** As {@link allows}, for a request. */
  uses(address: number, at: number): boolean {
    if (this.#learned.has(address)) this.#learned.set(address, at);
    return this.allows(address);
  }

  /** It may turn out to be an invoker's. Nothing is learned once invokers are configured. */
  mayLearn(address: number, at: number): boolean {
    return (
      this.#configured.length === 0 &&
      !this.#isContainer(address) &&
      (this.#learned.size < MAX_LEARNED || this.#silent(at) !== undefined)
    );
  }

  learn(address: number, at: number): boolean {
    if (!this.mayLearn(address, at)) return false;
    if (this.#learned.size >= MAX_LEARNED) this.#learned.delete(this.#silent(at)!);
    this.#learned.set(address, at);
    return true;
  }

  forget(address: number): void {
    this.#learned.delete(address);
  }

  #silent(at: number): number | undefined {
    for (const [address, last] of this.#learned) if (at - last > this.#silence) return address;
    return undefined;
  }
}
