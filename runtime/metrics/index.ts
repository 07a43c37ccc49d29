export { auditCheck, operatorCheck, pausedText, tapCheck } from './health.js';
export { HookMetrics } from './hook-metrics.js';
export { Operating } from './operating.js';
export { updateAgents, updateAggregator } from './other-metrics.js';
export { metricsReference } from './reference.js';
export type { MetricPart } from './table.js';
