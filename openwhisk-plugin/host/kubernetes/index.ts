export { GrpcClient } from './grpc-client.js';
export { KubernetesEngine } from './kubernetes-engine.js';
export { type Field, type Message, message } from './protobuf.js';
