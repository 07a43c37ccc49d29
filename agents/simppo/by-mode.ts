import type { Millis } from '../../config/index.js';
import type { Decided, ResourceManager, View } from '../resource-manager.js';
import type { SimppoManager } from './manager.js';
import type { SimppoState } from './state.js';

/**
 * One learner per mode: one network that learned both weight factors and amounts did neither well
 * (docs/results/simppo.md). A function is the agent of its last mode.
 */
export class SimppoByMode implements ResourceManager<SimppoState> {
  readonly name: string;
  readonly weight: SimppoManager;
  readonly quota: SimppoManager;

  constructor(weight: SimppoManager, quota: SimppoManager) {
    this.name = weight.name;
    this.weight = weight;
    this.quota = quota;
  }

  initialState(fn: string): SimppoState {
    return this.quota.initialState(fn);
  }

  decide(state: SimppoState, view: View, now: Millis): Decided<SimppoState> {
    return this[view.observation.cpuMode].decide(state, view, now);
  }

  phase(state: SimppoState): string {
    return this.quota.phase(state);
  }

  saveState(state: SimppoState, now: Millis): unknown {
    return this.quota.saveState(state, now);
  }

  loadState(fn: string, saved: unknown, now: Millis): SimppoState | null {
    return this.quota.loadState(fn, saved, now);
  }

  retrain(state: SimppoState): SimppoState {
    const last = Object.values(state.hosts).at(-1);
    return this[last?.byWeight === true ? 'weight' : 'quota'].retrain(state);
  }

  endEpisode(): void {
    this.weight.endEpisode();
    this.quota.endEpisode();
  }
}
