interface Link {
  operationId: string;
  description: string;
  parameters: Record<string, string>;
}

const ID = { id: '$response.body#/id' };
const SAME_ID = { id: '$request.path.id' };

const OF_TASK = {
  task: { operationId: 'getTask', description: 'Read the task.', parameters: ID },
  ledger: { operationId: 'getTaskLedger', description: 'Its credits.', parameters: ID },
  cancel: { operationId: 'cancelTask', description: 'Cancel the task.', parameters: ID },
};

const LOG = { operationId: 'listWebhookDeliveries', description: 'Its log.' };
const OF_EVENT = {
  log: { ...LOG, parameters: SAME_ID },
  sendAgain: {
    operationId: 'sendWebhookAgain',
    description: 'Send the event again.',
    parameters: { ...SAME_ID, eventId: '$response.body#/event_id' },
  },
};

/** What a client can do next with a response, by operation and status. */
export const LINKS: Record<string, Record<number, Record<string, Link>>> = {
  createVideo: { 200: OF_TASK, 202: OF_TASK },
  getTask: {
    200: {
      ledger: OF_TASK.ledger,
      output: {
        operationId: 'deleteTaskOutput',
        description: 'Delete the video, once the task is completed.',
        parameters: ID,
      },
    },
  },
  createUpload: {
    201: {
      delete: { operationId: 'deleteUpload', description: 'Delete the file.', parameters: ID },
    },
  },
  createWebhook: {
    201: {
      endpoint: { operationId: 'getWebhook', description: 'Read the endpoint.', parameters: ID },
      log: { ...LOG, parameters: ID },
      test: { operationId: 'testWebhook', description: 'Send a test event.', parameters: ID },
      delete: {
        operationId: 'deleteWebhook',
        description: 'Delete the endpoint.',
        parameters: ID,
      },
    },
  },
  getWebhook: { 200: { log: { ...LOG, parameters: ID } } },
  testWebhook: { 202: OF_EVENT },
};
