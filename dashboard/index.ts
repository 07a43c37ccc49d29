export { type DashboardOptions, DashboardPortError, type RunningDashboard, runDashboard } from './server/dashboard.js';
export { DashboardTokenError, Token } from './server/token.js';
