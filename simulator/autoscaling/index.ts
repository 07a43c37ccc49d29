export { azureShapes, type Shape } from './azure-shapes.js';
export { drawEpisode, type Episode, type EpisodePlan } from './episode.js';
export { FunctionQueue, RESPONSE_TIMEOUT_MILLIS, type ResponseSink, Window } from './function-queue.js';
export { type CurvePoint, kneeObjective, kneeOf, tailCurve } from './knee.js';
export { observationOfState } from './observations.js';
export { judge, learnEpisode, type ScalingController, type Start, serving } from './play.js';
export { type ArrivalRates, RateSource } from './rates.js';
export { ResponseWindow } from './response-window.js';
export { doNothing, ensure, hpaVpa, kpa, managed, randomActions, staticStart } from './rules.js';
export { profileFunctions, type ScaledFunction, scaledFunctions } from './scaled-function.js';
export {
  type Allocation,
  type Contention,
  publishedStart,
  type ScaledState,
  ScalingCluster,
  type ScalingOptions,
  startMs,
} from './scaling-cluster.js';
export { type FunctionScore, type RunScore, ScoreKeeper } from './score.js';
export { scalingStateOf, scalingStatesOf, totalsOf } from './sights.js';
