export {
  Registry,
  type RegistryCounts,
  type RegistrySettings,
  registrySettings,
} from './registry.js';
