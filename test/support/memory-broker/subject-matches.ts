/** Whether a subject matches a pattern with `*` and `>`. */
export function subjectMatches(pattern: readonly string[], subject: readonly string[]): boolean {
  for (let i = 0; i < pattern.length; i++) {
    const token = pattern[i];
    if (token === '>') return subject.length > i;
    if (i >= subject.length || (token !== '*' && token !== subject[i])) return false;
  }
  return pattern.length === subject.length;
}
