export { metaTraining } from './meta-training.js';
export { reproduceAware } from './run-study.js';
export { trainInThread } from './train-in-thread.js';
