export * from './agents-service.js';
export * from './aggregator-service.js';
export * from './contract.js';
export * from './hook-service.js';
export type { HostUserMemory, SizeAdvice } from './size-advice.js';
export type { TunedConcurrency } from './tuned-concurrency.js';
export { featureText, grantReason, reasonText, requestedCpu } from './wording.js';
