export { faasrmMisses, faasrmReport } from './reproduce.js';
export { FAASRM_QUICK_SEEDS, FAASRM_SEEDS, runFaasrm } from './run-study.js';
