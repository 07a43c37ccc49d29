export * from './agents-service.js';
export { aggregatorSchema, aggregatorService } from './aggregator-service.js';
export { announce, InstanceDirectory } from './announcements.js';
export { askEvery, expectedInstances, silentHosts } from './ask.js';
export { contractedEndpoints, type ServiceContract } from './contract.js';
export * from './hook-service.js';
export {
  addPeakExcess,
  countPeak,
  excessChance,
  noPeakExcess,
  type PeakExcess,
} from './peak-excess.js';
export {
  ALL_HOSTS,
  callEveryInstance,
  callService,
  type ExpectedInstances,
  endpointSubject,
  findServices,
  type RunningService,
  type ServiceEndpoint,
  type ServiceInstance,
  serve,
} from './services.js';
export { featureText, grantReason, reasonText, requestedCpu } from './wording.js';
