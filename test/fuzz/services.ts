import { type RunningAgentHost, runAgentHost } from '../../agents/host/index.js';
import { createManager } from '../../agents/managers/index.js';
import { type BrokerMessage, services } from '../../broker/index.js';
import { type RunningAggregator, runAggregator } from '../../broker/mean-field/index.js';
import {
  agentsService,
  aggregatorService,
  endpointSubject,
  hookService,
} from '../../broker/services/index.js';
import { type Millicores, mebibytes, SeededRandom } from '../../config/index.js';
import { HookRig } from '../openwhisk-plugin/daemon/hook-rig.js';
import { ManualTime } from '../support/manual-time.js';
import { removeTemporaryFolder } from '../support/temporary-folder.js';
import { schemaOf, valid } from './from-schema.js';
import { type FuzzTarget, must } from './fuzz.js';
import type { Mutator } from './mutator.js';

const ENDPOINTS = [
  ...Object.entries(hookService).map(([name, { request }]) => ({
    service: services.hook,
    name,
    request,
  })),
  ...Object.entries(agentsService).map(([name, { request }]) => ({
    service: services.agents,
    name,
    request,
  })),
  ...Object.entries(aggregatorService).map(([name, { request }]) => ({
    service: services.aggregator,
    name,
    request,
  })),
].map((endpoint) => ({ ...endpoint, schema: schemaOf(endpoint.request) }));
const DISCOVERY = ['PING', 'INFO', 'STATS'].map((verb) => `$SRV.${verb}`);
const INBOX = 'inbox.fuzz';
/** The first can be answered. A client may write any of them. */
const REPLIES = [...Array(12).fill(INBOX), '', 'a..b', 'a.>', '*', ' ', '.', `${'x'.repeat(3000)}`];
const INPUTS_PER_STAGE = 2000;

interface Stage {
  readonly rig: HookRig;
  readonly agents: RunningAgentHost;
  readonly aggregator: RunningAggregator;
  readonly answers: BrokerMessage[];
}

/**
 * Requests to every endpoint of every service, with any reply subject: each that can be answered is
 * answered, with JSON or with an error that says something, whatever came before it.
 */
export class ServicesTarget implements FuzzTarget {
  readonly name = 'services';
  #stage: Stage | null = null;
  #fed = 0;

  /**
   * The first byte says which endpoint, the second which reply subject; the rest is the request.
   */
  make(m: Mutator): Uint8Array {
    const which = m.random.below(ENDPOINTS.length + 1);
    const endpoint = ENDPOINTS[which];
    const value = endpoint === undefined ? null : valid(endpoint.schema, m);
    const bytes = m.jsonBytes(m.chance(0.4) ? value : m.json(value));
    const huge = m.chance(0.01) ? Buffer.alloc(300_000, '[') : bytes;
    return Uint8Array.from([
      which,
      m.random.below(REPLIES.length),
      ...(m.chance(0.1) ? m.bytes(bytes) : huge),
    ]);
  }

  async check(input: Uint8Array): Promise<string> {
    const { rig, answers } = await this.#ready();
    const endpoint = ENDPOINTS[input[0]! % (ENDPOINTS.length + 1)];
    const reply = REPLIES[input[1]! % REPLIES.length]!;
    const subject =
      endpoint === undefined
        ? DISCOVERY[input.length % DISCOVERY.length]!
        : endpointSubject(endpoint.service, endpoint.name);
    answers.length = 0;
    // Past the broker, which would refuse what is no subject.
    const delivery = {
      subject,
      data: input.slice(2),
      reply: reply === '' ? undefined : reply,
      headers: undefined,
    };
    must(rig.bus.route(delivery) > 0, `${subject} is served`);
    if (reply !== INBOX) {
      await turn();
      must(answers.length === 0, 'no answer for what has no place for it');
      return 'unanswerable';
    }
    for (let i = 0; i < 200 && answers.length === 0; i++) await turn();
    must(answers.length > 0, `${subject} answers`);
    const [answer] = answers as [BrokerMessage];
    const status = answer.header('Nats-Service-Error-Code');
    if (status === undefined) {
      JSON.parse(Buffer.from(answer.data).toString('utf8'));
      return 'accepted';
    }
    must(Number(status) >= 400 && Number(status) < 600, `status ${status}`);
    must((answer.header('Nats-Service-Error') ?? '') !== '', 'an error says something');
    // An error of the request is the asker's; 500 would be ours.
    must(status !== '500', `${subject}: ${answer.header('Nats-Service-Error')}`);
    return `error ${status}`;
  }

  async close(): Promise<void> {
    const stage = this.#stage;
    if (stage === null) return;
    this.#stage = null;
    await Promise.all([stage.agents.stop(), stage.aggregator.stop()]);
    await stage.rig.hook.stop();
    removeTemporaryFolder(stage.rig.folder);
  }

  async #ready(): Promise<Stage> {
    if (this.#stage !== null && this.#fed++ < INPUTS_PER_STAGE) return this.#stage;
    await this.close();
    this.#fed = 0;
    const rig = await new HookRig().start();
    for (let i = 0; i < 3; i++) rig.container({ quota: 1000 }).call(20, 300);
    const time = new ManualTime();
    const parts = { clock: time, timers: time, intervalMs: 1000 };
    const manager = createManager('greedy', {
      cap: { cpu: 4000 as Millicores, memory: mebibytes(1024) },
    });
    const random = new SeededRandom(1);
    const agents = runAgentHost({
      broker: rig.bus.connect(),
      ...parts,
      random,
      manager,
      host: 'agents-a',
    });
    const aggregator = runAggregator({ broker: rig.bus.connect(), ...parts, host: 'aggregator-a' });
    const answers: BrokerMessage[] = [];
    rig.other.subscribe(INBOX, (message) => answers.push(message));
    this.#stage = { rig, agents, aggregator, answers };
    return this.#stage;
  }
}

/** Long enough for what waits for its turn. */
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
