export { Registry, type RegistryCounts, type RegistrySettings } from './registry.js';
