export { type HttpRequest, type HttpResponse, HttpServer, type HttpStream } from './http-server.js';
export { httpAddress, isLocalName, isLoopback, parseListen } from './listen-address.js';
