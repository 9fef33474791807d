import { command, type Database, query, type Transaction, whether } from '../database/database.ts';
import { invalidRequest } from '../kernel/errors.ts';
import type { GenerationBody } from './request.ts';

export interface Preset {
  name: string;
  /** Only the fields that were filled in. */
  request: Partial<GenerationBody>;
}

const MAX_PRESETS = 50;

/** The saved requests of an account, by name. */
export const listPresets = query<[accountId: string], Preset>(
  'preset_list',
  'select name, request from presets where account_id = $1 order by lower(name), name',
);

const save = whether<[accountId: string, name: string, request: string]>(
  'preset_save',
  `insert into presets (account_id, name, request)
   select $1, $2, $3 where exists (select from presets where account_id = $1 and name = $2)
     or (select count(*) < ${MAX_PRESETS} from presets where account_id = $1)
   on conflict (account_id, name) do update set request = excluded.request returning name`,
);

/**
 * Saves a preset, also over one of the same name.
 * @throws ApiError `invalid_request` if there are 50 others
 */
export async function savePreset(db: Database, accountId: string, preset: Preset): Promise<void> {
  if (await save(db, accountId, preset.name, JSON.stringify(preset.request))) return;
  const details = { field: 'name', reason: 'too_many' };
  throw invalidRequest(`There are ${MAX_PRESETS} presets already: delete one first.`, details);
}

/** @returns whether there was one */
export const deletePreset = whether<[accountId: string, name: string]>(
  'preset_delete',
  'delete from presets where account_id = $1 and name = $2 returning name',
);

export const eraseOf = command<[accountId: string], Transaction>(
  'preset_erase',
  'delete from presets where account_id = $1',
);
