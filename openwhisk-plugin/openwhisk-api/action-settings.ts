import { type Broker, buckets, functionName, functionToken } from '../../broker/index.js';
import {
  type ActionSettings,
  decodeActionSettings,
  encodeMessage,
} from '../../broker/messages/index.js';
import { systemClock } from '../../config/index.js';
import { actionSettings, concurrencyOf } from './annotations.js';
import type { JournalEntry } from './journal-entry.js';
import { openChanges, userVersions } from './open-changes.js';
import type { ListedAction } from './ranges.js';

const same = (a: ActionSettings, b: ActionSettings): boolean =>
  JSON.stringify({ ...a, at: 0 }) === JSON.stringify({ ...b, at: 0 });

/**
 * Makes the bucket `gleaner_actions` what was listed in `namespaces`: annotations, and which
 * actions Gleaner made smaller. Other namespaces stay. Returns unreadable annotations by action.
 */
export async function publishActionSettings(
  broker: Broker,
  namespaces: ReadonlySet<string>,
  listed: readonly ListedAction[],
  entries: readonly JournalEntry[],
): Promise<Map<string, readonly string[]>> {
  const open = openChanges(entries);
  const versions = userVersions(entries);
  const bucket = broker.keyValue(buckets.actions);
  // Markers of what was deleted the last time and before: else there is one for each action that
  // ever was.
  await bucket.sweep(
    () => true,
    ({ value }) => (value === null ? 'purge' : 'keep'),
  );
  const present = new Set(await bucket.keys());
  const bad = new Map<string, readonly string[]>();
  const currentKeys = new Set<string>();
  for (const one of listed) {
    const { function: fn, action } = one;
    const known = versions.get(fn);
    const version = known?.setByGleaner === action.version ? known.user : action.version;
    const settings = actionSettings(
      action,
      open.get(fn),
      concurrencyOf(one, version, open.get(fn)),
    );
    if (settings === null) continue;
    const key = functionToken(fn);
    currentKeys.add(key);
    if (settings.unreadable.length > 0) bad.set(fn, settings.unreadable);
    const entry = present.has(key) ? await bucket.get(key) : null;
    const before = entry?.value ? decodeActionSettings(entry.value) : null;
    if (before?.ok && same(decodedShape(settings), before.message)) continue;
    await bucket.put(key, encodeMessage({ ...settings, at: systemClock.wall() }));
  }
  for (const key of present) {
    const namespace = functionName(key)?.split('/')[1];
    if (!currentKeys.has(key) && (namespace === undefined || namespaces.has(namespace)))
      await bucket.delete(key);
  }
  return bad;
}

/** With its members in the order of the schema, as a decoded one has them. */
function decodedShape(settings: ActionSettings): ActionSettings {
  const decoded = decodeActionSettings(encodeMessage(settings));
  return decoded.ok ? decoded.message : settings;
}
