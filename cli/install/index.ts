export { checkInstallation } from './check.js';
export { install, rollback } from './install.js';
export { layoutOf, SERVICE_PARTS, type ServicePart } from './layout.js';
export { programFolder } from './program.js';
export { remainsOf, remove } from './remove.js';
export { type ServiceManager, serviceManagerOf } from './service-manager.js';
