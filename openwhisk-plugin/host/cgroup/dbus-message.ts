/**
 * The part of the D-Bus wire format that {@link SystemdBus} needs
 * (https://dbus.freedesktop.org/doc/dbus-specification.html, "Message Protocol"): method calls out,
 * replies and errors in. Calls are little-endian; what comes in may be either.
 */

const LITTLE = 0x6c;
const METHOD_CALL = 1;
const METHOD_RETURN = 2;
const ERROR = 3;
/** Header fields. */
const FIELD = {
  path: 1,
  interface: 2,
  member: 3,
  errorName: 4,
  replySerial: 5,
  destination: 6,
  signature: 8,
} as const;
const FIXED_HEADER = 16;
/** The specification allows 128 MiB; replies to the calls made here have some hundred bytes. */
const LARGEST_MESSAGE = 1024 * 1024;

export interface MethodCall {
  readonly destination: string;
  readonly path: string;
  readonly interface: string;
  readonly member: string;
  /** Types of the body's values; '' with an empty body. */
  readonly signature: string;
  readonly body: Buffer;
}

export interface Reply {
  readonly serial: number;
  /** Null: the call succeeded. */
  readonly error: string | null;
}

/** Values one after the other, each aligned as its type asks. */
export class Marshaller {
  readonly #parts: Buffer[] = [];
  #length = 0;

  align(size: number): this {
    return this.#put(Buffer.alloc(aligned(this.#length, size) - this.#length));
  }

  byte(value: number): this {
    return this.#put(Buffer.of(value));
  }

  uint32(value: number): this {
    const bytes = Buffer.alloc(4);
    bytes.writeUInt32LE(value);
    return this.align(4).#put(bytes);
  }

  uint64(value: bigint): this {
    const bytes = Buffer.alloc(8);
    bytes.writeBigUInt64LE(value);
    return this.align(8).#put(bytes);
  }

  /** Also an object path. */
  string(text: string): this {
    return this.uint32(Buffer.byteLength(text)).#put(Buffer.from(`${text}\0`));
  }

  signature(text: string): this {
    return this.byte(text.length).#put(Buffer.from(`${text}\0`));
  }

  /** An array of structures, `each` of which begins aligned to 8 bytes. */
  structures<T>(items: readonly T[], each: (item: T) => void): this {
    const length = Buffer.alloc(4);
    this.align(4).#put(length).align(8);
    const begin = this.#length;
    for (const item of items) {
      this.align(8);
      each(item);
    }
    length.writeUInt32LE(this.#length - begin);
    return this;
  }

  bytes(): Buffer {
    return Buffer.concat(this.#parts);
  }

  #put(bytes: Buffer): this {
    this.#parts.push(bytes);
    this.#length += bytes.length;
    return this;
  }
}

export function encodeCall(call: MethodCall, serial: number): Buffer {
  const header = new Marshaller().byte(LITTLE).byte(METHOD_CALL).byte(0).byte(1);
  header.uint32(call.body.length).uint32(serial);
  const fields: (readonly [number, 'o' | 's' | 'g', string])[] = [
    [FIELD.path, 'o', call.path],
    [FIELD.interface, 's', call.interface],
    [FIELD.member, 's', call.member],
    [FIELD.destination, 's', call.destination],
  ];
  if (call.signature !== '') fields.push([FIELD.signature, 'g', call.signature]);
  header.structures(fields, ([code, type, value]) => {
    header.byte(code).signature(type);
    if (type === 'g') header.signature(value);
    else header.string(value);
  });
  return Buffer.concat([header.align(8).bytes(), call.body]);
}

/** Takes a stream apart into messages. */
export class MessageReader {
  #rest: Buffer = Buffer.alloc(0);

  /** Complete replies and errors; other messages are skipped. RangeError: invalid D-Bus data. */
  push(chunk: Buffer): Reply[] {
    this.#rest = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk]);
    const replies: Reply[] = [];
    for (;;) {
      const length = messageLength(this.#rest);
      if (length === 0 || this.#rest.length < length) return replies;
      const reply = decodeReply(this.#rest.subarray(0, length));
      if (reply !== null) replies.push(reply);
      this.#rest = this.#rest.subarray(length);
    }
  }
}

/** 0 while the buffer ends before the length of the message. */
function messageLength(buffer: Buffer): number {
  if (buffer.length < FIXED_HEADER) return 0;
  const body = uint32(buffer, 4);
  const fields = uint32(buffer, 12);
  const length = aligned(FIXED_HEADER + fields, 8) + body;
  if (buffer[3] !== 1 || length > LARGEST_MESSAGE)
    throw new RangeError('the bus sent bytes that are not a D-Bus message');
  return length;
}

function decodeReply(message: Buffer): Reply | null {
  const type = message[1];
  if (type !== METHOD_RETURN && type !== ERROR) return null;
  let serial = 0;
  let name = '';
  const end = FIXED_HEADER + uint32(message, 12);
  for (let at = FIXED_HEADER; at < end; ) {
    at = aligned(at, 8);
    const code = message[at];
    const kind = String.fromCharCode(message[at + 2] ?? 0);
    // Every header field's type is one letter: code, length 1, letter, NUL.
    at += 4;
    if (kind === 'u') {
      if (code === FIELD.replySerial) serial = uint32(message, at);
      at += 4;
    } else if (kind === 'g') {
      at += (message[at] ?? 0) + 2;
    } else if (kind === 's' || kind === 'o') {
      const length = uint32(message, at);
      if (code === FIELD.errorName) name = message.toString('utf8', at + 4, at + 4 + length);
      at += 4 + length + 1;
    } else throw new RangeError(`a header field of type '${kind}' is not known`);
  }
  if (type === METHOD_RETURN) return { serial, error: null };
  // The body of an error begins with its text, where it has one.
  const body = aligned(end, 8);
  const length = message.length - body >= 4 ? uint32(message, body) : 0;
  const text = message.toString('utf8', body + 4, Math.min(message.length, body + 4 + length));
  return { serial, error: text === '' ? name : `${text} (${name})` };
}

const uint32 = (buffer: Buffer, at: number): number => {
  if (at + 4 > buffer.length) throw new RangeError('a D-Bus message is shorter than it says');
  return buffer[0] === LITTLE ? buffer.readUInt32LE(at) : buffer.readUInt32BE(at);
};

const aligned = (at: number, size: number): number => Math.ceil(at / size) * size;
