export { checkInstallation } from './check.js';
export { configCheck } from './config-check.js';
export { install, rollback } from './install.js';
export { type Layout, layoutOf, SERVICE_PARTS, type ServicePart } from './layout.js';
export { programFolder } from './program.js';
export { type RemoveOptions, remove } from './remove.js';
export { restoreWhereEnginesAre } from './restore.js';
export { serviceManagerOf } from './service-manager.js';
