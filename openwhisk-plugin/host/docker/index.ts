export {
  type ContainerRole,
  invokerOf,
  type ManagedFilter,
  managedByPrefix,
  roleOf,
} from './container-names.js';
export { DockerEngine } from './docker-engine.js';
