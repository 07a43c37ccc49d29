const QUOTE = 34;
const BACKSLASH = 92;
const SPACE = 32;
const LAST_ASCII = 126;
/** A buffer that has grown to this many times its first size is not kept. */
const MOST_GROWTH = 32;

/**
 * JSON that grows as bytes, in memory that is used again. As a text it would be a tree of its parts
 * until it is encoded: a third of all that the hook allocates.
 */
export class JsonBytes {
  readonly #capacity: number;
  #bytes: Buffer;
  #length = 0;

  constructor(capacity: number) {
    this.#capacity = capacity;
    this.#bytes = Buffer.allocUnsafeSlow(capacity);
  }

  /** Valid until the next change. */
  get bytes(): Buffer {
    return this.#bytes.subarray(0, this.#length);
  }

  clear(): void {
    this.#length = 0;
    if (this.#bytes.length >= MOST_GROWTH * this.#capacity)
      this.#bytes = Buffer.allocUnsafeSlow(this.#capacity);
  }

  /** Appends ASCII as it is. */
  ascii(text: string): void {
    const bytes = this.#reserved(text.length);
    for (let i = 0; i < text.length; i++) bytes[this.#length + i] = text.charCodeAt(i);
    this.#length += text.length;
  }

  /** Appends a text as a JSON string. */
  quoted(text: string): void {
    const bytes = this.#reserved(text.length + 2);
    let at = this.#length;
    bytes[at++] = QUOTE;
    for (let i = 0; i < text.length; i++) {
      const code = text.charCodeAt(i);
      if (code < SPACE || code > LAST_ASCII || code === QUOTE || code === BACKSLASH) {
        this.#any(JSON.stringify(text));
        return;
      }
      bytes[at++] = code;
    }
    bytes[at++] = QUOTE;
    this.#length = at;
  }

  #any(text: string): void {
    const most = 3 * text.length;
    this.#length += this.#reserved(most).write(text, this.#length, 'utf8');
  }

  /** The buffer, with room for `more` bytes. */
  #reserved(more: number): Buffer {
    const needed = this.#length + more;
    if (needed > this.#bytes.length) {
      const larger = Buffer.allocUnsafeSlow(Math.max(needed, 2 * this.#bytes.length));
      this.#bytes.copy(larger, 0, 0, this.#length);
      this.#bytes = larger;
    }
    return this.#bytes;
  }
}
