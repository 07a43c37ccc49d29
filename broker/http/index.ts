export {
  HTTP_LIMITS,
  type HttpAnswer,
  type HttpHandler,
  HttpRefusal,
  type HttpRequest,
  HttpServer,
  type HttpServerOptions,
  type HttpStream,
} from './http-server.js';
export { httpAddress, isLoopback, parseListen } from './listen-address.js';
