export { DashboardPortError, type RunningDashboard, runDashboard } from './server/dashboard.js';
export { Token } from './server/token.js';
