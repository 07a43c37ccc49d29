import { subjects } from '../../broker/index.js';
import { encodeMessage } from '../../broker/messages/index.js';
import { targetSchema } from '../../broker/messages/target.js';
import { mebibytes } from '../../config/index.js';
import { NO_LIMIT } from '../../openwhisk-plugin/decision/index.js';
import { type FakeContainer, HookRig } from '../openwhisk-plugin/daemon/hook-rig.js';
import { removeTemporaryFolder } from '../support/temporary-folder.js';
import { schemaOf, valid } from './from-schema.js';
import { type FuzzTarget, must } from './fuzz.js';
import type { Json, Mutator } from './mutator.js';

const ACTION = '/guest/hello';
const USER = { quota: 1000, memory: mebibytes(256), shares: 128 };
/** decision.cpuFloorMillicores */
const FLOOR = 100;
const HOST_CPU = 8000;
const schema = schemaOf(targetSchema);
/** A new hook now and then: what one target has done must not hide what the next one does. */
const INPUTS_PER_HOOK = 2000;
const [NOW, SEQUENCE, EPOCH] = [-11, -12, -13];
const SENDER = {
  echo: { host: 'host-a', boot: 'boot-1', observedAt: NOW },
  author: { host: 'agents', boot: 'boot-a', sequence: SEQUENCE, manager: 'greedy' },
  epoch: EPOCH,
};
/** Text of an input whose owner and order are unchanged. */
const OWN = [`"boot":"boot-a","sequence":${SEQUENCE},`, `"epoch":${EPOCH}`];
/** Requests nothing. */
const PLAIN = JSON.stringify({ v: 1, function: ACTION, ...SENDER });

/**
 * Targets, most of which the hook accepts, and an activation after each. Whatever an agent
 * requests, limits are the user's or between the floor and the host's capacity, memory is never
 * below the user's, and at the end all limits are the user's again.
 */
export class TargetsTarget implements FuzzTarget {
  readonly name = 'targets';
  #rig: HookRig | null = null;
  #containers: FakeContainer[] = [];
  #fed = 0;
  #sent = 0;

  make(m: Mutator): Uint8Array {
    const message = valid(schema, m) as { [key: string]: Json };
    message.function = ACTION;
    // What only the receiver knows is put in when it is fed: its clock, and a sequence and an epoch
    // that rise.
    Object.assign(message, structuredClone(SENDER));
    const changed = m.chance(0.4) ? message : m.json(message);
    return m.chance(0.85) ? Buffer.from(JSON.stringify(changed)) : m.jsonBytes(changed);
  }

  async check(input: Uint8Array): Promise<string> {
    const rig = await this.#ready();
    const text = Buffer.from(input).toString('latin1');
    const taken = await this.#send(rig, text);
    for (const container of this.#containers) {
      const user = container.info.user;
      const connection = container.run();
      const { quota, memory, shares } = container.cgroup.inForce;
      must(
        Number.isFinite(quota) && Number.isFinite(memory) && Number.isFinite(shares),
        `${quota} ${memory} ${shares}`,
      );
      must(
        user.quota === NO_LIMIT ? quota === NO_LIMIT : quota >= FLOOR && quota <= HOST_CPU,
        `a quota of ${quota}`,
      );
      must(memory >= user.memory, `memory ${memory} below the user's ${user.memory}`);
      must(shares >= 2 && shares <= 262_144, `${shares} shares`);
      container.work(20, 300);
      container.answer(connection);
      must(container.cgroup.inForce.quota === user.quota, 'the quota is the user’s again');
    }
    // Another epoch, owner or sequence than the next input's may have been believed, and would have
    // all that follows refused.
    if (!OWN.every((part) => text.includes(part)) && !(await this.#send(rig, PLAIN)))
      await this.close();
    return taken ? 'accepted' : 'refused';
  }

  /** Whether the hook took it, with what only its receiver knows put in. */
  async #send(rig: HookRig, text: string): Promise<boolean> {
    const filled = text
      .replace(`"observedAt":${NOW}`, `"observedAt":${rig.platform.time.monotonic()}`)
      .replace(`"sequence":${SEQUENCE}`, `"sequence":${++this.#sent}`)
      .replace(`"epoch":${EPOCH}`, `"epoch":${Math.floor(this.#sent / 50)}`);
    const accepted = (): number => rig.hook.figures().targets.accepted;
    const before = accepted();
    rig.other.publish(subjects.target(ACTION), Buffer.from(filled, 'latin1'));
    await Promise.resolve();
    await Promise.resolve();
    return accepted() > before;
  }

  async close(): Promise<void> {
    if (this.#rig === null) return;
    await this.#rig.hook.stop();
    removeTemporaryFolder(this.#rig.folder);
    this.#rig = null;
  }

  async #ready(): Promise<HookRig> {
    if (this.#rig !== null && this.#fed++ < INPUTS_PER_HOOK) return this.#rig;
    await this.close();
    this.#fed = 0;
    this.#sent = 0;
    const rig = await new HookRig((config) => {
      Object.assign(config.decision, { policy: { quota: 'target', weight: 'target' } });
    }).start();
    this.#containers = [rig.container({ quota: USER.quota }), rig.container({})];
    for (let i = 0; i < 5; i++) for (const container of this.#containers) container.call(100, 300);
    rig.other.publish(subjects.target(ACTION), encodeMessage({ v: 1 }));
    this.#rig = rig;
    return rig;
  }
}
