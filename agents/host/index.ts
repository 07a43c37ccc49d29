export { Agent } from './agent.js';
export { type RunningAgentHost, runAgentHost } from './agent-host.js';
export { AgentHostCore } from './core.js';
export { registrySettings } from './registry/index.js';
export { TrajectoryWriter } from './trajectories.js';
