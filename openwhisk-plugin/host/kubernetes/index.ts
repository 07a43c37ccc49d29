export { KubernetesEngine } from './kubernetes-engine.js';
