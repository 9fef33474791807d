import type { FastifyDynamicSwaggerOptions } from '@fastify/swagger';

/** What openapi.json says beside the routes' own schemas. */
export function describeApi(): FastifyDynamicSwaggerOptions {
  return {
    openapi: {
      openapi: '3.1.0',
      info: {
        title: 'Framewright',
        version: '1.0.0',
        description:
          'Asynchronous video generation, paid with prepaid credits. ' +
          'Create a task, then read it until it is completed or failed.',
        license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
      },
      servers: [{ url: '/', description: 'This service' }],
      components: {
        securitySchemes: {
          apiKey: { type: 'http', scheme: 'bearer', description: 'An API key: fw_live_...' },
        },
      },
      security: [{ apiKey: [] }],
    },
  };
}
