export {
  expectedFaasrm,
  faasrmCheckpoint,
  faasrmParameters,
  faasrmState,
  faasrmWeights,
  shippedFaasrm,
} from './checkpoint.js';
export { runFaasrmTrainer } from './faasrm-trainer.js';
export { FaasrmLearner } from './learner.js';
export { type FaasrmSettings, faasrmOnlineSettings, faasrmSettings } from './settings.js';
