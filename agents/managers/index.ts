export { type ExternalManager, loadExternalManager } from './external-manager.js';
export { fixedManager } from './fixed.js';
export { HPA_VPA_DEFAULT, type HpaVpaConstants, hpaVpaManager } from './hpa-vpa.js';
export { kpaManager } from './kpa.js';
export { managerFile } from './module-path.js';
export { createManager, type ManagerSettings } from './registry.js';
