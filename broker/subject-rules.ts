import { KeyError, SubjectError } from './errors.js';

/** False for a subject that the client would change silently, such as one with a space. */
export function isSubject(subject: string, wildcardsAllowed = false): boolean {
  let tokenStart = 0;
  const length = subject.length;
  if (length === 0 || length > 2048) return false;
  for (let i = 0; i <= length; i++) {
    const code = i === length ? 46 : subject.charCodeAt(i);
    if (code === 46) {
      if (i === tokenStart) return false;
      tokenStart = i + 1;
    } else if (code <= 32 || code === 127) {
      return false;
    } else if (code === 42 || code === 62) {
      // A wildcard is a whole token, and `>` the last one.
      const whole =
        i === tokenStart && (i + 1 === length || (code === 42 && subject.charCodeAt(i + 1) === 46));
      if (!wildcardsAllowed || !whole) return false;
    }
  }
  return true;
}

/** Throws `GLN_BROKER_SUBJECT` unless {@link isSubject}. */
export function checkSubject(subject: string, wildcardsAllowed: boolean): void {
  if (!isSubject(subject, wildcardsAllowed)) throw new SubjectError(subject);
}

/** Keys allow fewer characters than subjects; the server refuses others, or they time out. */
export const isKey = (key: string): boolean =>
  key.length <= 1200 && /^[-/_=\w]+(?:\.[-/_=\w]+)*$/.test(key);

/** Throws `GLN_BROKER_KEY` unless {@link isKey}. */
export function checkKey(key: string): void {
  if (!isKey(key)) throw new KeyError(key);
}
