export { type FaasrmPlan, faasrmTrainingSettings, trainFaasrm } from './faasrm.js';
export { type EpisodeResult, type Place, train, trainingSettings } from './training.js';
