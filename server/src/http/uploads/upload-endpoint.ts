import { joinAccount } from '../../accounts/account-sql.ts';
import type { KeyGate } from '../../accounts/key-gate.ts';
import type { Database } from '../../database/database.ts';
import type { UploadOwner, Uploads } from '../../requests/uploads/receive-upload.ts';
import type { Storage } from '../../storage/storage.ts';
import { callerOf, fusedRead } from '../public/endpoint.ts';

export interface UploadEndpointDeps {
  gate: KeyGate;
  db: Database;
  storage: Storage;
  uploads: Uploads;
  publicUrl(): string;
}

/** Admits an upload, and reads whose it is. */
export function admittedOwner(gate: KeyGate, name: string) {
  const read = { columns: 'a.email', joins: joinAccount('caller.account_id') };
  const { admit, rowOf } = fusedRead<{ email: string }>(gate, name, read);
  const ownerOf = (request: Parameters<typeof callerOf>[0]): UploadOwner => {
    const { accountId } = callerOf(request);
    return { accountId, email: rowOf(request).email, surface: 'api' };
  };
  return { admit, ownerOf };
}
