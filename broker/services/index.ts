export * from './agents-service.js';
export { aggregatorSchema, aggregatorService } from './aggregator-service.js';
export { announce, type FailedInstance, InstanceDirectory } from './announcements.js';
export {
  askEvery,
  askEveryPage,
  expectedInstances,
  restrictedHosts,
  silentHosts,
} from './ask.js';
export { contractedEndpoints, type ServiceContract } from './contract.js';
export * from './hook-service.js';
export {
  ALL_HOSTS,
  callEveryInstance,
  callEveryPage,
  callService,
  type ExpectedInstances,
  endpointSubject,
  findServices,
  nextOffset,
  type Page,
  type ServiceEndpoint,
  type ServiceInstance,
  serve,
  sharedNames,
} from './services.js';
