/**
 * A packet in bytes that are valid during the call. `at`: kernel stamp, wall clock, us. `link`:
 * what comes before its IP header.
 */
export type PacketSink = (
  bytes: Buffer,
  offset: number,
  captured: number,
  original: number,
  at: number,
  link: LinkType,
) => void;

/** Ethernet, or Linux "cooked" v2, which names the interface (`LINKTYPE_LINUX_SLL2`). */
export type LinkType = typeof LINK_ETHERNET | typeof LINK_COOKED;
export const LINK_ETHERNET = 1;
export const LINK_COOKED = 276;

const FILE_HEADER = 24;
const RECORD_HEADER = 16;
/** tcpdump captures 2048 bytes per packet; a longer record means that the stream is out of sync. */
const LONGEST_PACKET = 65536;
const NANOSECONDS = 0xa1b23c4d;
const MICROSECONDS = 0xa1b2c3d4;
const NOTHING = Buffer.alloc(0);

/**
 * Reads the classic pcap format from a stream cut anywhere, in both byte orders and both stamp
 * precisions (draft-ietf-opsawg-pcap). Never throws; keeps at most one record.
 */
export class PcapStream {
  readonly #sink: PacketSink;
  #state: 'header' | 'packets' | 'broken' = 'header';
  #reason = '';
  #little = true;
  #fraction = 0.001;
  #link: LinkType = LINK_ETHERNET;
  /** Start of a header or record whose other bytes have not come yet. */
  #rest: Buffer = NOTHING;

  constructor(sink: PacketSink) {
    this.#sink = sink;
  }

  /** `broken` is final: only a new stream helps. */
  get state(): 'header' | 'packets' | 'broken' {
    return this.#state;
  }

  /** Why the stream is `broken`; empty otherwise. */
  get reason(): string {
    return this.#reason;
  }

  /** Takes the first `length` bytes of `chunk`; calls the sink for each packet that is whole. */
  push(chunk: Buffer, length = chunk.length): void {
    const { length: kept } = this.#rest;
    const bytes = kept === 0 ? chunk : Buffer.concat([this.#rest, chunk], kept + length);
    const end = kept + length;
    let offset = 0;
    for (let size = -1; size !== 0; offset += size) size = this.#take(bytes, offset, end);
    if (this.#state === 'broken' || offset === end) this.#rest = NOTHING;
    // A copy, since the chunk's memory is reused. tcpdump writes whole records, so it is rare.
    else this.#rest = Buffer.from(bytes.subarray(offset, end));
  }

  /** Returns the length of the header or record that it has read; 0 if bytes are missing. */
  #take(bytes: Buffer, offset: number, end: number): number {
    const available = end - offset;
    if (this.#state === 'broken') return 0;
    if (this.#state === 'header') {
      if (available < FILE_HEADER) return 0;
      this.#readHeader(bytes);
      return FILE_HEADER;
    }
    if (available < RECORD_HEADER) return 0;
    const captured = this.#word(bytes, offset + 8);
    if (captured > LONGEST_PACKET) {
      this.#break(`a record of ${captured} bytes`);
      return 0;
    }
    if (available < RECORD_HEADER + captured) return 0;
    const at = this.#word(bytes, offset) * 1e6 + this.#word(bytes, offset + 4) * this.#fraction;
    const original = Math.max(captured, this.#word(bytes, offset + 12));
    this.#sink(bytes, offset + RECORD_HEADER, captured, original, at, this.#link);
    return RECORD_HEADER + captured;
  }

  #readHeader(bytes: Buffer): void {
    this.#little = isMagic(bytes.readUInt32LE(0));
    const magic = this.#word(bytes, 0);
    const link = this.#word(bytes, 20) & 0xffff;
    this.#fraction = magic === NANOSECONDS ? 0.001 : 1;
    if (!isMagic(magic)) this.#break('no pcap header');
    else if (link !== LINK_ETHERNET && link !== LINK_COOKED)
      this.#break(`link type ${link} instead of Ethernet`);
    else {
      this.#link = link;
      this.#state = 'packets';
    }
  }

  #break(reason: string): void {
    this.#state = 'broken';
    this.#reason = reason;
  }

  #word(bytes: Buffer, offset: number): number {
    return this.#little ? bytes.readUInt32LE(offset) : bytes.readUInt32BE(offset);
  }
}

const isMagic = (word: number): boolean => word === NANOSECONDS || word === MICROSECONDS;
