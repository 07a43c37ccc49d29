export * from './experience.js';
export { FaasrmPolicy } from './faasrm-policy.js';
