import { KeyError, SubjectError } from './errors.js';

/**
 * The client would send what has a space to another subject and lets empty tokens vanish (field-notes A4-01): so both are
 * refused here. Throws `GLN_BROKER_SUBJECT`.
 */
export function checkSubject(subject: string, wildcardsAllowed: boolean): void {
  let tokenStart = 0;
  const length = subject.length;
  if (length === 0 || length > 2048) throw new SubjectError(subject);
  for (let i = 0; i <= length; i++) {
    const code = i === length ? 46 : subject.charCodeAt(i);
    if (code === 46) {
      if (i === tokenStart) throw new SubjectError(subject);
      tokenStart = i + 1;
    } else if (code <= 32 || code === 127) {
      throw new SubjectError(subject);
    } else if (code === 42 || code === 62) {
      // A wildcard is a whole token, and `>` the last one.
      const whole = i === tokenStart && (i + 1 === length || (code === 42 && subject.charCodeAt(i + 1) === 46));
      if (!wildcardsAllowed || !whole) throw new SubjectError(subject);
    }
  }
}

/** Throws `GLN_BROKER_KEY` for what NATS would refuse, or would only time out on (field-notes A4-02). */
export function checkKey(key: string): void {
  if (key.length > 1200 || !/^[-/_=\w]+(?:\.[-/_=\w]+)*$/.test(key)) throw new KeyError(key);
}

/** Whether a subject is meant by a pattern with `*` and `>`. */
export function subjectMatches(pattern: readonly string[], subject: readonly string[]): boolean {
  for (let i = 0; i < pattern.length; i++) {
    const token = pattern[i];
    if (token === '>') return subject.length > i;
    if (i >= subject.length || (token !== '*' && token !== subject[i])) return false;
  }
  return pattern.length === subject.length;
}
