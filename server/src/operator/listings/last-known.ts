import { query } from '../../database/database.ts';

/** What operators must repeat by hand after a restore, and the last time that the database has. */
export interface LastKnown {
  what: string;
  last_known: Date | null;
}

export const lastKnown = query<[], LastKnown>(
  'restored_last_known',
  `select 'accounts created' as what, max(created_at) as last_known from accounts
   union all select 'accounts disabled', max(disabled_at) from accounts
   union all select 'API keys created', max(created_at) from api_keys
   union all select 'API keys revoked', max(revoked_at) from api_keys
   union all select 'operator commands', max(at) from operator_actions
   union all select 'tasks created', max(created_at) from tasks`,
);
