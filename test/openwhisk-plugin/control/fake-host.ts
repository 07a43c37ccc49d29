import { type Bytes, MIB, type Micros, type Millis } from '../../../config/index.js';
import {
  Activation,
  FunctionRecord,
  HostController,
  type LimitChange,
  ManagedContainer,
  Revision,
} from '../../../openwhisk-plugin/control/index.js';
import {
  type Decider,
  emptySample,
  sharesRange,
  type UserLimits,
  type WriteResult,
} from '../../../openwhisk-plugin/decision/index.js';

export class FakeContainer extends ManagedContainer<FakeContainer> {
  shares = this.user.shares;
  quota: number = this.user.quota;
  memory: number = this.user.memory;
  readonly sample = emptySample();
  /** The function that it serves. */
  action = ACTION;
}

const ACTION = '/guest/f';

/** A host by hand: limits are fields of its containers, usage is what the test says. */
export class FakeHost {
  readonly controller: HostController<FakeContainer>;
  readonly records = new Map<string, FunctionRecord>();
  /** Of the function that containers serve unless a test says otherwise. */
  readonly record: FunctionRecord;
  /** Each write as `resource value who why`, and each report by its name. */
  readonly log: string[] = [];
  quotaResult: WriteResult = 'written';
  now = 1000 as Millis;
  refuseMemory: (container: FakeContainer, now: Millis) => void = () => undefined;
  readonly #decider: Decider;

  constructor(decider: Decider) {
    this.#decider = decider;
    this.record = this.#recordOf(ACTION);
    this.controller = new HostController(decider, {
      functions: {
        revision: (action, version, user) => this.#revision(action, version, user),
      },
      limits: {
        weightRange: ({ user }) => sharesRange(user.shares),
        setShares: (container, shares, change) => {
          container.shares = shares;
          return this.#note('shares', shares, change);
        },
        setQuota: (container, quota, change) => {
          if (this.quotaResult === 'written') container.quota = quota;
          this.#note('quota', quota, change);
          return this.quotaResult;
        },
        setMemory: (container, limit, change) => {
          container.memory = limit;
          container.desiredMemory = limit;
          this.#note('memory', limit / MIB, change);
        },
        onMemoryRefused: (listener) => {
          this.refuseMemory = listener;
        },
        protectMemory: () => undefined,
        restore: (container, change) => {
          container.shares = container.user.shares;
          container.quota = container.user.quota;
          container.memory = container.user.memory;
          this.#note('user limits', 0, change);
        },
        isChanged: (container) =>
          container.quota !== container.user.quota || container.shares !== container.user.shares,
        memoryInForce: (container) => container.memory,
        memoryCeiling: () => Number.POSITIVE_INFINITY as Bytes,
        recommend: () => this.log.push('recommend'),
      },
      usage: {
        atStart: ({ container, run }) => {
          run.startCpu = container.sample.cpu;
        },
        atEnd: ({ container, run }) => {
          run.endCpu = container.sample.cpu;
          return container.sample;
        },
        resetPeak: () => undefined,
      },
      reports: {
        decided: (activation) => {
          activation.author = 'policy';
        },
        ended: (_activation, _fn, outcome) => this.log.push(`ended ${outcome}`),
        stepped: () => undefined,
        safeguarded: (_activation, action) => this.log.push(`safeguarded ${action}`),
        boosted: () => this.log.push('boosted'),
        lent: (_container, _revision, _before, after) => this.log.push(`lent ${after / MIB}`),
        revoked: () => this.log.push('revoked'),
        lentLater: () => this.log.push('lent later'),
        oomKilled: (_container, limit, isHarvest) =>
          this.log.push(`OOM kill at ${limit / MIB}${isHarvest ? ' by a lowered limit' : ''}`),
      },
    });
  }

  container(user: UserLimits, action = ACTION, tapped = true): FakeContainer {
    const container = new FakeContainer('c', this.#decider.container(user));
    container.action = action;
    container.tapped = tapped;
    this.controller.containerStarted(container);
    return container;
  }

  request(container: FakeContainer, late = false): Activation<FakeContainer> {
    const activation = new Activation<FakeContainer>();
    const revision = this.controller.identify(container, container.action, '0.0.1', this.now);
    activation.begin(container, revision as Revision, -1);
    activation.late = late;
    activation.startedMonotonic = this.now;
    container.enter(activation);
    this.controller.onRequest(activation, this.now);
    return activation;
  }

  /** `ms` pass with `cores` busy and `memory` MiB in use. */
  pass(container: FakeContainer, ms: number, cores: number, memory = 50): void {
    this.now = (this.now + ms) as Millis;
    const { sample } = container;
    sample.at = this.now;
    sample.cpu = (sample.cpu + cores * ms * 1000) as Micros;
    sample.workingSet = (memory * MIB) as Bytes;
  }

  answer(activation: Activation<FakeContainer>, status = 200): void {
    const { container } = activation;
    container.leave(activation);
    activation.status = status;
    activation.duration = ((this.now - activation.startedMonotonic) * 1000) as Micros;
    activation.clean = true;
    this.controller.onEnd(activation, this.now);
  }

  /** A whole activation of one second. */
  whole(container: FakeContainer, cores: number): void {
    this.pass(container, 10, 0);
    const activation = this.request(container);
    for (let i = 0; i < 10; i++) {
      this.pass(container, 100, cores);
      this.controller.onSample(activation, container.sample, this.now);
    }
    this.answer(activation);
  }

  /** What happened since the last call. */
  taken(): string[] {
    return this.log.splice(0);
  }

  #recordOf(action: string): FunctionRecord {
    let record = this.records.get(action);
    if (record === undefined) {
      record = new FunctionRecord(action);
      record.mode = 'enforce';
      record.enforced = true;
      this.records.set(action, record);
    }
    return record;
  }

  #revision(action: string, version: string, user: UserLimits): Revision {
    const record = this.#recordOf(action);
    const state = this.#decider.functionState(action, version, user, this.now);
    record.revision = new Revision(record, version, state);
    return record.revision;
  }

  #note(what: string, value: number, { who, why }: LimitChange<FakeContainer>): 'written' {
    this.log.push(`${what} ${value} ${who} ${why}`);
    return 'written';
  }
}
