import { createHash, timingSafeEqual } from 'node:crypto';
import { readFileSync, statSync } from 'node:fs';
import { errorClass, GleanerError, messageOf } from '../../config/index.js';

class DashboardTokenError extends errorClass('GLN_DASHBOARD_TOKEN') {}

const MIN_LENGTH = 16;
const digest = (text: string): Buffer => createHash('sha256').update(text, 'utf8').digest();

/** The token that allows changes. Only its digest is kept, and compared in constant time. */
export class Token {
  readonly #digest: Buffer;

  constructor(token: string) {
    this.#digest = digest(token);
  }

  /** @throws `GLN_DASHBOARD_TOKEN` for a file that others may read, or a token that is too short */
  static read(path: string): Token {
    let text: string;
    try {
      if ((statSync(path).mode & 0o077) !== 0)
        throw new DashboardTokenError(path, 'may be read by others: chmod 600');
      text = readFileSync(path, 'utf8').trim();
    } catch (error) {
      if (error instanceof GleanerError) throw error;
      throw new DashboardTokenError(path, `cannot be read: ${messageOf(error)}`);
    }
    if (text.length < MIN_LENGTH)
      throw new DashboardTokenError(path, `holds less than ${MIN_LENGTH} characters`);
    return new Token(text);
  }

  /** `authorization`: the header, `Bearer …`. */
  allows(authorization: string | undefined): boolean {
    const sent = /^Bearer (.{1,1024})$/.exec(authorization ?? '')?.[1] ?? '';
    return timingSafeEqual(digest(sent), this.#digest);
  }
}
