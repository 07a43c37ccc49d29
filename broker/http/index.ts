export {
  HTTP_LIMITS,
  type HttpHandler,
  HttpRefusal,
  type HttpRequest,
  type HttpResponse,
  HttpServer,
  type HttpServerOptions,
  type HttpStream,
} from './http-server.js';
export { httpAddress, isLoopback, parseListen } from './listen-address.js';
