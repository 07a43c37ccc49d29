import { z } from 'zod';
import { key, liveKey } from './keys.js';
import { natsSchema } from './schema/broker.js';
import { dashboardSchema } from './schema/dashboard.js';
import { decisionSchema } from './schema/decision.js';
import { functionsSchema, modes } from './schema/functions.js';
import { hookSchema } from './schema/hook.js';
import { metricsSchema } from './schema/metrics.js';
import { openwhiskSchema } from './schema/openwhisk.js';
import { agentsSchema, aggregatorSchema, logSchema, simulatorSchema } from './schema/processes.js';

export const platforms = ['host', 'simulated', 'docker'] as const;

/** The whole configuration; docs/reference/config.md is generated from it. */
export const configSchema = z.strictObject({
  mode: liveKey(
    z.enum(modes),
    'recommend',
    '`observe`: measure only. `recommend`: decide and publish, too. `enforce`: write limits.',
  ),
  platform: key(
    z.enum(platforms),
    'host',
    '`host`: an invoker host. `simulated`: a simulated one. `docker`: real containers under the ' +
      'shipped workload.',
  ),
  nats: natsSchema,
  hook: hookSchema,
  decision: decisionSchema,
  functions: functionsSchema,
  agents: agentsSchema,
  aggregator: aggregatorSchema,
  dashboard: dashboardSchema,
  simulator: simulatorSchema,
  openwhisk: openwhiskSchema,
  metrics: metricsSchema,
  log: logSchema,
});

export type Config = z.output<typeof configSchema>;
export const defaultConfig: Config = configSchema.parse({});
export type HookConfig = Config['hook'];
export type NatsConfig = Config['nats'];
export type AgentsConfig = Config['agents'];
export type SimulatorConfig = Config['simulator'];
