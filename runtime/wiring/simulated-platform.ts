import type { SimulatorConfig } from '../../config/index.js';
import type { Platform } from '../../openwhisk-plugin/host/ports/index.js';
import { Player, SimPlatform } from '../../simulator/platform/index.js';
import { configuredPlan } from './workload.js';

export interface SimulatedHost {
  readonly platform: Platform;
  /** Time begins to pass: call it when the hook listens. */
  play(): void;
  stop(): void;
}

export function simulatedHost(simulator: SimulatorConfig): SimulatedHost {
  const plan = configuredPlan(simulator);
  const platform: SimPlatform = new SimPlatform(plan, {
    epochMicros: Date.now() * 1000,
    timeOfDay: (simulatedMicros) => player.timeOfDay(simulatedMicros),
    ...(simulator.cores === null ? {} : { host: { cores: simulator.cores } }),
    ...(simulator.seed === null ? {} : { seed: simulator.seed }),
  });
  platform.repeat = simulator.repeat;
  const player: Player = new Player(platform, { speed: simulator.speed });
  return { platform, play: () => void player.play(), stop: () => player.stop() };
}
