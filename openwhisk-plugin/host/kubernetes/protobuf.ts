import { EngineResponseError } from '../engine/index.js';

/** A field's number and value; a list is one field after another. Empty values are left out. */
export type Field = readonly [number: number, value: string | number | boolean | Buffer];

const VARINT = 0;
const FIXED64 = 1;
const LENGTH = 2;
const FIXED32 = 5;
/** Seven bits a byte: ten bytes hold 64 bits. */
const LONGEST_VARINT = 10;

/** A message in the wire format of https://protobuf.dev/programming-guides/encoding. */
export function message(...fields: readonly Field[]): Buffer {
  const parts: Buffer[] = [];
  for (const [number, value] of fields) {
    if (typeof value === 'number' || typeof value === 'boolean') {
      parts.push(varint(number * 8 + VARINT), varint(Number(value)));
    } else {
      const bytes = typeof value === 'string' ? Buffer.from(value) : value;
      parts.push(varint(number * 8 + LENGTH), varint(bytes.length), bytes);
    }
  }
  return Buffer.concat(parts);
}

function varint(value: number): Buffer {
  const bytes: number[] = [];
  let rest = BigInt.asUintN(64, BigInt(value));
  for (; rest > 127n; rest >>= 7n) bytes.push(Number(rest & 127n) | 128);
  bytes.push(Number(rest));
  return Buffer.from(bytes);
}

/**
 * The fields of a received message. A missing field is empty, as in proto3, and unknown fields are
 * ignored. Throws {@link EngineResponseError} for bytes that are no message.
 */
export class Message {
  readonly #numbers = new Map<number, bigint>();
  readonly #bytes = new Map<number, Buffer[]>();

  constructor(bytes: Buffer) {
    let at = 0;
    const next = (): bigint => {
      let value = 0n;
      for (let index = 0; index < LONGEST_VARINT && at < bytes.length; index++) {
        const byte = bytes[at++]!;
        value |= BigInt(byte & 127) << BigInt(7 * index);
        if (byte < 128) return value;
      }
      throw new EngineResponseError('an answer of the container runtime is cut off');
    };
    const skip = (length: number): Buffer => {
      if (length > bytes.length - at)
        throw new EngineResponseError('an answer of the container runtime is cut off');
      at += length;
      return bytes.subarray(at - length, at);
    };
    while (at < bytes.length) {
      const tag = Number(next());
      const field = Math.floor(tag / 8);
      if (tag % 8 === VARINT) this.#numbers.set(field, next());
      else if (tag % 8 === LENGTH) {
        const found = this.#bytes.get(field) ?? [];
        found.push(skip(Number(next())));
        this.#bytes.set(field, found);
      } else if (tag % 8 === FIXED64) skip(8);
      else if (tag % 8 === FIXED32) skip(4);
      else throw new EngineResponseError(`field ${field} of an answer has wire type ${tag % 8}`);
    }
  }

  /** A 64-bit integer, exact up to 2^53. */
  number(field: number): number {
    return Number(this.integer(field));
  }

  integer(field: number): bigint {
    return BigInt.asIntN(64, this.#numbers.get(field) ?? 0n);
  }

  text(field: number): string {
    return this.#bytes.get(field)?.at(-1)?.toString('utf8') ?? '';
  }

  message(field: number): Message {
    return new Message(this.#bytes.get(field)?.at(-1) ?? Buffer.alloc(0));
  }

  messages(field: number): Message[] {
    return (this.#bytes.get(field) ?? []).map((bytes) => new Message(bytes));
  }

  has(field: number): boolean {
    return this.#bytes.has(field) || this.#numbers.has(field);
  }

  /** A `map<string, string>`. */
  map(field: number): Map<string, string> {
    return new Map(this.messages(field).map((entry) => [entry.text(1), entry.text(2)]));
  }
}
