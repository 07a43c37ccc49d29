export { metaTraining, withoutEmbedding } from './meta-training.js';
export { reproduceAware } from './run-study.js';
export { FIRST_SEED } from './study-request.js';
export { trainInThread } from './train-in-thread.js';
