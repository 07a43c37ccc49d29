export { connectBroker, connectPart, serversOf, withBroker } from './broker.js';
export { runAsProcess } from './child.js';
export { checkCredentials } from './credentials.js';
export { type HookAnswer, type HookAnswers, inspectHooks } from './hook-client.js';
export {
  fetchAgents,
  fetchSizeEvidence,
  limitRequestsOf,
  readLimitRequests,
} from './limit-requests.js';
export { FileLines } from './line-output.js';
export { makeLogger } from './logger.js';
export { natsServerArguments, natsServerPort } from './nats-server.js';
export { SystemdNotifier } from './notify.js';
export { optimizeSooner } from './optimize-sooner.js';
export * from './output.js';
export { parts, playDockerWorkload } from './parts.js';
export { processFaults } from './process-faults.js';
export { stderrProgress } from './progress.js';
export { runningUp, type UpState } from './running-up.js';
export * from './settings.js';
export { type ChildSpec, type ChildState, Supervisor } from './supervisor.js';
export { checkConfigWriters, foreignWriter } from './writers.js';
