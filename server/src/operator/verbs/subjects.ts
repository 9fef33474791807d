import { choiceOf, text } from '../verb/fields.ts';

/** Fields of several nouns. */
export const ACCOUNT = text('The account: its id or its e-mail address.', {
  word: 'ACCOUNT',
  max: 254,
});
export const TASK = text('The id of the task.', { word: 'ID' });
export const KIND = choiceOf('The kind of the credits.', ['paid', 'promotional']);
