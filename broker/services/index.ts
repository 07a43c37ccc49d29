export {
  AGENTS_PAGE,
  type AgentDecision,
  type AgentSummary,
  type AgentsList,
  agentDecisionSchema,
  agentSummarySchema,
  agentsService,
} from './agents-service.js';
export { aggregatorService } from './aggregator-service.js';
export { contractedEndpoints, type ServiceContract } from './contract.js';
export {
  containerViewSchema,
  type ExplanationView,
  explanationSchema,
  type FailedInitsView,
  type FunctionView,
  functionViewSchema,
  type HostView,
  hookService,
  hostViewSchema,
  type Inspection,
  PAGE_CONTAINERS,
  PAGE_FUNCTIONS,
  type TapView,
  tapText,
} from './hook-service.js';
export {
  ALL_HOSTS,
  callEveryInstance,
  callService,
  endpointSubject,
  findServices,
  type RunningService,
  type ServiceEndpoint,
  type ServiceInstance,
  serve,
} from './services.js';
export type { HostUserMemory, SizeAdvice } from './size-advice.js';
export type { TunedConcurrency } from './tuned-concurrency.js';
export { featureText, grantReason, reasonText, requestedCpu } from './wording.js';
