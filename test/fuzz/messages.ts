import { announcementSchema, decodeAnnouncement } from '../../broker/messages/announcement.js';
import { eventSchema } from '../../broker/messages/event.js';
import { experiencesSchema } from '../../broker/messages/experiences.js';
import {
  type Decode,
  decodeActionSettings,
  decodeAgentReport,
  decodeAgentsPartial,
  decodeEvent,
  decodeExperiences,
  decodeHostReport,
  decodeLease,
  decodeMeanField,
  decodeMode,
  decodeObservation,
  decodePolicyParameters,
  decodeTarget,
  decodeTrajectory,
} from '../../broker/messages/index.js';
import {
  agentReportSchema,
  agentsPartialSchema,
  hostReportSchema,
  meanFieldSchema,
} from '../../broker/messages/mean-field.js';
import { observationSchema } from '../../broker/messages/observation.js';
import { targetSchema } from '../../broker/messages/target.js';
import { trajectorySchema } from '../../broker/messages/trajectory.js';
import {
  actionSettingsSchema,
  decodeOwnRegistration,
  leaseSchema,
  modeSchema,
  policyParametersSchema,
  registrationSchema,
} from '../../broker/messages/values.js';
import { GleanerError } from '../../config/index.js';
import { createPolicy } from '../../openwhisk-plugin/decision/index.js';
import { schemaOf, valid } from './from-schema.js';
import { type FuzzTarget, must, mustBeFinite } from './fuzz.js';

interface Kind {
  readonly schema: ReturnType<typeof schemaOf>;
  readonly decode: Decode<unknown>;
}

const kind = (schema: Parameters<typeof schemaOf>[0], decode: Decode<unknown>): Kind => ({
  schema: schemaOf(schema),
  decode,
});

/** The first byte of an input says of which kind it is; the rest is the message. */
function decodes(
  name: string,
  kinds: readonly Kind[],
  use: (message: unknown, which: number) => void,
): FuzzTarget {
  return {
    name,
    make(m) {
      const which = m.random.below(kinds.length);
      const value = valid(kinds[which]!.schema, m);
      const bytes = m.jsonBytes(m.chance(0.2) ? value : m.json(value));
      return Uint8Array.from([which, ...bytes]);
    },
    check(input) {
      const which = input[0]! % kinds.length;
      const decoded = kinds[which]!.decode(input.subarray(1));
      if (!decoded.ok) {
        must(
          decoded.detail.length > 0 && decoded.detail.length <= 200,
          `a refusal says where: '${decoded.detail}'`,
        );
        return decoded.kind;
      }
      mustBeFinite(decoded.message, 'message');
      use(decoded.message, which);
      return 'accepted';
    },
  };
}

const messages = [
  kind(targetSchema, decodeTarget),
  kind(observationSchema, decodeObservation),
  kind(hostReportSchema, decodeHostReport),
  kind(agentsPartialSchema, decodeAgentsPartial),
  kind(agentReportSchema, decodeAgentReport),
  kind(meanFieldSchema, decodeMeanField),
  kind(eventSchema, decodeEvent),
  kind(experiencesSchema, decodeExperiences),
  kind(trajectorySchema, decodeTrajectory),
  kind(announcementSchema, decodeAnnouncement),
];

/** Every message on a subject, as its receivers decode it. */
export const natsMessages = decodes('nats', messages, () => undefined);

const values = [
  kind(actionSettingsSchema, decodeActionSettings),
  kind(modeSchema, decodeMode),
  kind(registrationSchema, decodeOwnRegistration),
  kind(leaseSchema, decodeLease),
  kind(policyParametersSchema, decodePolicyParameters),
];
const POLICY_PARAMETERS = values.length - 1;
const POLICIES = [
  'short-first',
  'smallest-in-range',
  'target',
  'faasrm',
  'libra',
  'alps',
  'sfs',
  'unknown-policy',
];

/** Every value of a key-value bucket; accepted policy parameters go on to the policies. */
export const keyValues = decodes('kv', values, (message, which) => {
  if (which !== POLICY_PARAMETERS) return;
  const { parameters, weights } = message as { parameters: object; weights: readonly number[] };
  for (const name of POLICIES) {
    try {
      createPolicy(name, parameters, weights);
    } catch (error) {
      must(
        error instanceof GleanerError && error.message.includes(name),
        `policy ${name} says what is wrong: ${error}`,
      );
    }
  }
});
