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
  #buffer = Buffer.alloc(256);
  #length = 0;

  align(size: number): this {
    this.#reserve(size);
    while (this.#length % size !== 0) this.#buffer[this.#length++] = 0;
    return this;
  }

  byte(value: number): this {
    this.#reserve(1);
    this.#buffer[this.#length++] = value;
    return this;
  }

  uint32(value: number): this {
    this.align(4).#reserve(4);
    this.#length = this.#buffer.writeUInt32LE(value, this.#length);
    return this;
  }

  uint64(value: bigint): this {
    this.align(8).#reserve(8);
    this.#length = this.#buffer.writeBigUInt64LE(value, this.#length);
    return this;
  }

  /** Also an object path. */
  string(text: string): this {
    this.uint32(Buffer.byteLength(text));
    return this.#text(text);
  }

  signature(text: string): this {
    this.byte(text.length);
    return this.#text(text);
  }

  /** An array of structures, `each` of which begins aligned to 8 bytes. */
  structures<T>(items: readonly T[], each: (item: T) => void): this {
    this.uint32(0);
    const at = this.#length - 4;
    this.align(8);
    const begin = this.#length;
    for (const item of items) {
      this.align(8);
      each(item);
    }
    this.#buffer.writeUInt32LE(this.#length - begin, at);
    return this;
  }

  bytes(): Buffer {
    return this.#buffer.subarray(0, this.#length);
  }

  #text(text: string): this {
    this.#reserve(Buffer.byteLength(text) + 1);
    this.#length += this.#buffer.write(text, this.#length);
    this.#buffer[this.#length++] = 0;
    return this;
  }

  #reserve(size: number): void {
    if (this.#length + size <= this.#buffer.length) return;
    this.#buffer = Buffer.concat(
      [this.#buffer],
      Math.max(2 * this.#buffer.length, this.#length + size),
    );
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

  /**
   * Replies and errors that are complete; other messages are skipped. Throws RangeError for invalid
   * D-Bus data.
   */
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

/** 0 while too little of the message is there to say. */
function messageLength(buffer: Buffer): number {
  if (buffer.length < FIXED_HEADER) return 0;
  const body = uint32(buffer, 4);
  const fields = uint32(buffer, 12);
  const length = aligned(FIXED_HEADER + fields, 8) + body;
  if (buffer[3] !== 1 || length > LARGEST_MESSAGE)
    throw new RangeError('what the bus sends is no D-Bus message');
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
