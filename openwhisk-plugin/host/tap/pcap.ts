/**
 * Where a packet of the stream lies; valid during the call only. `at`: kernel stamp, wall clock, us
 * with a fraction.
 */
export type PacketSink = (
  bytes: Uint8Array,
  offset: number,
  captured: number,
  original: number,
  at: number,
) => void;

const FILE_HEADER = 24;
const RECORD_HEADER = 16;
/**
 * tcpdump captures 2048 bytes per packet; a longer record means that the stream is out of sync.
 */
const LONGEST_PACKET = 65536;

const LINK_ETHERNET = 1;

/** What the stream turned out to be; `broken` is final: only a new stream helps. */
export type PcapState = 'header' | 'packets' | 'broken';

/**
 * Reads the classic pcap format from a stream cut anywhere, in both byte orders and both stamp
 * precisions (draft-ietf-opsawg-pcap: magic a1b23c4d = nanoseconds, a1b2c3d4 = microseconds). Never
 * throws; memory is one record.
 */
export class PcapStream {
  #state: PcapState = 'header';
  #reason = '';
  #little = true;
  #fraction = 0.001;
  readonly #sink: PacketSink;
  /** Start of a header or record whose rest has not come yet. */
  readonly #carry = new Uint8Array(RECORD_HEADER + LONGEST_PACKET);
  #carried = 0;

  constructor(sink: PacketSink) {
    this.#sink = sink;
  }

  get state(): PcapState {
    return this.#state;
  }

  /** Why the stream is `broken`; empty otherwise. */
  get reason(): string {
    return this.#reason;
  }

  /** Takes the next `length` bytes; calls the sink for each packet that is whole. */
  push(chunk: Uint8Array, length: number = chunk.length): void {
    let offset = 0;
    while (offset < length && this.#state !== 'broken') {
      if (this.#carried > 0) {
        offset += this.#fill(chunk, offset, length);
        continue;
      }
      const size = this.#sizeAt(chunk, offset, length - offset);
      if (size < 0) return;
      if (size === 0 || offset + size > length) {
        this.#carry.set(chunk.subarray(offset, length));
        this.#carried = length - offset;
        return;
      }
      this.#take(chunk, offset);
      offset += size;
    }
  }

  /** Adds to the carried part what it lacks; returns how many bytes were used. */
  #fill(chunk: Uint8Array, offset: number, length: number): number {
    const have = this.#carried;
    const known = this.#sizeAt(this.#carry, 0, have);
    const needed = known > 0 ? known : this.#state === 'header' ? FILE_HEADER : RECORD_HEADER;
    const used = Math.min(needed - have, length - offset);
    for (let i = 0; i < used; i++) this.#carry[have + i] = chunk[offset + i]!;
    this.#carried = have + used;
    if (this.#carried < needed) return used;
    const size = this.#sizeAt(this.#carry, 0, this.#carried);
    if (size === this.#carried) {
      this.#carried = 0;
      this.#take(this.#carry, 0);
    }
    return used;
  }

  /**
   * Size of the header or record that starts here; 0 if bytes are missing, -1 if it is invalid.
   */
  #sizeAt(bytes: Uint8Array, offset: number, available: number): number {
    if (this.#state === 'header') return FILE_HEADER;
    if (available < RECORD_HEADER) return 0;
    const captured = this.#word(bytes, offset + 8);
    if (captured <= LONGEST_PACKET) return RECORD_HEADER + captured;
    this.#break(`a record of ${captured} bytes`);
    return -1;
  }

  #take(bytes: Uint8Array, offset: number): void {
    if (this.#state === 'header') {
      this.#readHeader(bytes, offset);
      return;
    }
    const at = this.#word(bytes, offset) * 1e6 + this.#word(bytes, offset + 4) * this.#fraction;
    const captured = this.#word(bytes, offset + 8);
    const original = this.#word(bytes, offset + 12);
    this.#sink(bytes, offset + RECORD_HEADER, captured, Math.max(captured, original), at);
  }

  #readHeader(bytes: Uint8Array, offset: number): void {
    for (const little of [true, false]) {
      this.#little = little;
      const magic = this.#word(bytes, offset);
      if (magic !== 0xa1b23c4d && magic !== 0xa1b2c3d4) continue;
      this.#fraction = magic === 0xa1b23c4d ? 0.001 : 1;
      const link = this.#word(bytes, offset + 20) & 0xffff;
      if (link === LINK_ETHERNET) this.#state = 'packets';
      else this.#break(`link type ${link} instead of Ethernet`);
      return;
    }
    this.#break('no pcap header');
  }

  #break(reason: string): void {
    this.#state = 'broken';
    this.#reason = reason;
    this.#carried = 0;
  }

  #word(bytes: Uint8Array, offset: number): number {
    const a = bytes[offset]!;
    const b = bytes[offset + 1]!;
    const c = bytes[offset + 2]!;
    const d = bytes[offset + 3]!;
    return (
      (this.#little
        ? a | (b << 8) | (c << 16) | (d << 24)
        : d | (c << 8) | (b << 16) | (a << 24)) >>> 0
    );
  }
}
