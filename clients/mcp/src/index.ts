export { createHttpHandler, type HttpOptions } from './http-handler.ts';
