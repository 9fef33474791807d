import { takeDown } from '../../operator/takedown.ts';
import type { Command } from '../command.ts';

export const OBJECT_COMMANDS: readonly Command[] = [
  {
    usage: 'objects takedown ID --reason TEXT',
    summary: 'Stop serving a file now and delete it. ID: an object, or a task for its video',
    options: [],
    reason: 'required',
    run: (db, { words: [id = ''], action }) => takeDown(db, action, id),
  },
];
