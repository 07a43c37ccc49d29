import { readdirSync, readFileSync } from 'node:fs';
import { arch, release, totalmem, uptime } from 'node:os';
import { join } from 'node:path';
import { type Broker, services } from '../../broker/index.js';
import { callEveryInstance, findServices } from '../../broker/services/index.js';
import {
  type Config,
  type LoadedConfig,
  messageOf,
  millis,
  programVersion,
} from '../../config/index.js';
import { statePaths, withBroker } from '../../runtime/index.js';
import { readAudit } from '../commands/audit.js';
import { findings } from '../doctor/findings.js';
import { surveyConfigured } from '../doctor/survey.js';
import { redacted, redactedValue } from './redact.js';

const LOG_LINES = 400;
const AUDIT_LINES = 400;

/** Parts by name. A part that could not be collected is `{ missing: reason }`. */
export type Bundle = Readonly<Record<string, unknown>>;

async function attempt(make: () => unknown | Promise<unknown>): Promise<unknown> {
  try {
    return await make();
  } catch (error) {
    return { missing: messageOf(error) };
  }
}

/** The end of each log. Redacts first, since a key may span several lines. */
function logs(folder: string): Record<string, string[]> {
  const found: Record<string, string[]> = {};
  for (const name of readdirSync(folder))
    if (/\.log(\.1)?$/.test(name))
      found[name] = redacted(readFileSync(join(folder, name), 'utf8'))
        .trimEnd()
        .split('\n')
        .slice(-LOG_LINES);
  return found;
}

const plain = (answers: ReadonlyMap<string, unknown>): Record<string, unknown> =>
  Object.fromEntries(
    [...answers].map(([host, answer]) => [
      host,
      answer instanceof Error ? { missing: messageOf(answer) } : answer,
    ]),
  );

async function overNats(broker: Broker): Promise<object> {
  const every = async (service: string, endpoint: string, request?: object): Promise<unknown> =>
    plain(
      await callEveryInstance(broker, {
        service,
        endpoint,
        ...(request === undefined ? {} : { request }),
      }),
    );
  return {
    counters: broker.counters,
    services: await findServices(broker, null, millis(300)),
    hooks: await every(services.hook, 'inspect', { limit: 200, containers: 200 }),
    agents: await every(services.agents, 'list', { limit: 200 }),
    aggregators: await every(services.aggregator, 'inspect'),
  };
}

/** Collects what a diagnosis needs, without secrets. `onProgress` is called before each part. */
export async function collectBundle(
  loaded: LoadedConfig,
  file: string | undefined,
  onProgress: (part: string, share: number) => void,
): Promise<Bundle> {
  const config: Config = loaded.config;
  const paths = statePaths(config);
  const parts: readonly (readonly [string, () => unknown | Promise<unknown>])[] = [
    [
      'gleaner',
      () => ({
        version: programVersion(),
        node: process.versions.node,
        kernel: release(),
        arch: arch(),
        memory: totalmem(),
        hostUpSeconds: Math.round(uptime()),
        at: new Date().toISOString(),
      }),
    ],
    ['config', () => ({ config, sources: Object.fromEntries(loaded.sources) })],
    ['doctor', async () => findings(await surveyConfigured(config, file))],
    ['nats', () => withBroker(config, overNats)],
    ['audit', () => readAudit(paths.audit, AUDIT_LINES, () => true)],
    ['modeChanges', () => readAudit(paths.modeAudit, AUDIT_LINES, () => true)],
    ['logs', () => logs(paths.logs)],
  ];
  const bundle: Record<string, unknown> = {};
  for (const [i, [name, make]] of parts.entries()) {
    onProgress(name, i / parts.length);
    bundle[name] = redactedValue(await attempt(make));
  }
  return bundle;
}

export const bundleText = (bundle: Bundle): string => `${JSON.stringify(bundle, null, 1)}\n`;
