/** Reads JSON in place: positions in a packet's bytes, and strings only for kept values. */
export const QUOTE = 34;
export const BACKSLASH = 92;
export const COLON = 58;
export const COMMA = 44;
export const BRACE = 123;
export const CLOSING_BRACE = 125;

export const ascii = (text: string): Uint8Array =>
  Uint8Array.from(text, (letter) => letter.charCodeAt(0));

/**
 * Index of the closing quote; -1 if there is none before `end`, or a control character before it.
 */
export function stringEnd(bytes: Uint8Array, start: number, end: number): number {
  for (let i = start; i < end; i++) {
    const byte = bytes[i]!;
    if (byte === QUOTE) return i;
    if (byte === BACKSLASH) i++;
    else if (byte < 32) return -1;
  }
  return -1;
}

export function same(bytes: Uint8Array, start: number, end: number, name: Uint8Array): boolean {
  if (end - start !== name.length) return false;
  for (let i = 0; i < name.length; i++) if (bytes[start + i] !== name[i]) return false;
  return true;
}

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** The text of a JSON string between its quotes; null where it is not valid UTF-8 or JSON. */
export function text(bytes: Uint8Array, start: number, end: number): string | null {
  let plain = true;
  for (let i = start; i < end && plain; i++) plain = bytes[i]! < 128 && bytes[i] !== BACKSLASH;
  if (plain) return Buffer.prototype.latin1Slice.call(bytes, start, end);
  try {
    const decoded = utf8.decode(bytes.subarray(start, end));
    const value: unknown = JSON.parse(`"${decoded}"`);
    return typeof value === 'string' ? value : null;
  } catch {
    return null;
  }
}

/** Milliseconds in decimal digits, as microseconds; -1 where it is not such a number. */
export function millisAsMicros(bytes: Uint8Array, start: number, end: number): number {
  if (start === end || end - start > 13) return -1;
  let value = 0;
  for (let i = start; i < end; i++) {
    const digit = bytes[i]! - 48;
    if (digit < 0 || digit > 9) return -1;
    value = value * 10 + digit;
  }
  return value * 1000;
}
