export { type ScalingAgentSettings, scalingSettings } from './agent/settings.js';
export { ScalingTeam, type TeamMember } from './agent/team.js';
export { azureShapes } from './azure-shapes.js';
export { drawEpisode, type EpisodeArrivals } from './episode.js';
export { kneeObjective } from './knee.js';
export { judge, learnEpisode, type ScalingController, type Start, serving } from './play.js';
export {
  admittedBy,
  doNothing,
  ensure,
  hpaVpa,
  kpa,
  type StaticConstants,
  staticStart,
} from './rules.js';
export { profileFunctions, type ScaledFunction } from './scaled-function.js';
export { type Contention, ScalingCluster } from './scaling-cluster.js';
export type { RunScore } from './score.js';
