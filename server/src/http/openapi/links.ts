const ID = { id: '$response.body#/id' };
const SAME_ID = { id: '$request.path.id' };

function link(operationId: string, description: string, parameters: Record<string, string> = ID) {
  return { operationId, description, parameters };
}

const LEDGER = link('getTaskLedger', 'Its credits.');
const OF_TASK = {
  task: link('getTask', 'Read the task.'),
  ledger: LEDGER,
  cancel: link('cancelTask', 'Cancel the task.'),
};
const LOG = link('listWebhookDeliveries', 'Its log.');

/** What a client can do next with a response, by operation and status. */
export const LINKS: Record<string, Record<number, Record<string, ReturnType<typeof link>>>> = {
  createVideo: { 200: OF_TASK, 202: OF_TASK },
  getTask: {
    200: {
      ledger: LEDGER,
      output: link('deleteTaskOutput', 'Delete the video, once the task is completed.'),
    },
  },
  createUpload: { 201: { delete: link('deleteUpload', 'Delete the file.') } },
  createWebhook: {
    201: {
      endpoint: link('getWebhook', 'Read the endpoint.'),
      log: LOG,
      test: link('testWebhook', 'Send a test event.'),
      delete: link('deleteWebhook', 'Delete the endpoint.'),
    },
  },
  getWebhook: { 200: { log: LOG } },
  testWebhook: {
    202: {
      log: link('listWebhookDeliveries', 'Its log.', SAME_ID),
      sendAgain: link('sendWebhookAgain', 'Send the event again.', {
        ...SAME_ID,
        eventId: '$response.body#/event_id',
      }),
    },
  },
};
