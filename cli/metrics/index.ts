export { Health, type HealthAnswer, type HealthCheck } from './health.js';
export { HookMetrics } from './hook-metrics.js';
export { MetricSet } from './metric-set.js';
export { Operating, type Watched } from './operating.js';
export { updateAgents, updateAggregator } from './other-metrics.js';
export { metricsReference } from './reference.js';
export { METRIC_PARTS, METRICS, type MetricName, type MetricPart, PROCESS_METRICS } from './table.js';
export { tapCheck } from './tap-check.js';
