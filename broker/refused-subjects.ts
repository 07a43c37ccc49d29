/** A service alone subscribes to dozens. */
const SHOWN = 5;

/** What an operator is told about subjects to which the server refuses to subscribe. */
export function refusedText(subjects: readonly string[]): string {
  const more = subjects.length > SHOWN ? ` and ${subjects.length - SHOWN} more` : '';
  const named = subjects.slice(0, SHOWN).join(', ');
  return `NATS refuses ${named}${more}: correct this user's permissions`;
}
