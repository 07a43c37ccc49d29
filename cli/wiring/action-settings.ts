import {
  type ActionSettings,
  type Broker,
  buckets,
  decodeActionSettings,
  encodeMessage,
  functionName,
  functionToken,
} from '../../broker/index.js';
import { systemClock } from '../../config/index.js';
import { actionSettings, type ListedAction, type OpenChange } from '../../openwhisk-plugin/index.js';

const same = (a: ActionSettings, b: ActionSettings): boolean =>
  JSON.stringify({ ...a, at: 0 }) === JSON.stringify({ ...b, at: 0 });

/**
 * Tells hooks and agent hosts what actions' owners say by annotations, and which actions Gleaner made smaller: the bucket
 * `gleaner_actions` becomes what was listed, of the namespaces that were listed. What is the same is not written again.
 *
 * @returns actions with annotations that cannot be read, and their names
 */
export async function publishActionSettings(
  broker: Broker,
  listed: readonly ListedAction[],
  open: ReadonlyMap<string, OpenChange>,
): Promise<Map<string, readonly string[]>> {
  const bucket = broker.keyValue(buckets.actions);
  const namespaces = new Set(listed.map(({ function: fn }) => fn.split('/')[1]));
  const present = new Set(await bucket.keys());
  const bad = new Map<string, readonly string[]>();
  const told = new Set<string>();
  for (const { function: fn, action } of listed) {
    const settings = actionSettings(action, open.get(fn));
    if (settings === null) continue;
    const key = functionToken(fn);
    told.add(key);
    if (settings.unreadable.length > 0) bad.set(fn, settings.unreadable);
    const entry = present.has(key) ? await bucket.get(key) : null;
    const known = entry?.value ? decodeActionSettings(entry.value) : null;
    if (known?.ok && same(decodedShape(settings), known.message)) continue;
    await bucket.put(key, encodeMessage({ ...settings, at: systemClock.wall() }));
  }
  for (const key of present) {
    const namespace = functionName(key)?.split('/')[1];
    if (!told.has(key) && (namespace === undefined || namespaces.has(namespace))) await bucket.delete(key);
  }
  return bad;
}

/** With its members in the order of the schema, as a decoded one has them. */
function decodedShape(settings: ActionSettings): ActionSettings {
  const decoded = decodeActionSettings(encodeMessage(settings));
  return decoded.ok ? decoded.message : settings;
}
