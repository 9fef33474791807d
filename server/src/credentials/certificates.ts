import { type Database, query, statement } from '../database/database.ts';
import { report } from '../telemetry/reports.ts';
import { certificatesIn, readCertificate, type SigningCertificate } from './certificate.ts';
import { makeCertificate } from './make-certificate.ts';

/** How long a made certificate is valid. Credentials without a time stamp expire with it. */
const VALID_YEARS = 10;
/** A made certificate is replaced this long before its end. */
const REPLACE_YEARS_BEFORE_END = 5;

const readMade = query<[], { chain: string; private_key: string; made: number; expires_at: Date }>(
  'certificate_made',
  `select chain, private_key, made, expires_at from signing_certificates
   where made is not null order by made desc`,
);

/** PEM of all certificates that ever signed here. */
export const allCertificates = query<[], { fingerprint: string; chain: string }>(
  'certificate_all',
  'select fingerprint, chain from signing_certificates order by created_at',
);

// `made` numbers the certificates that the service made; null: the operator's. It is unique: if two
// processes make one, the first counts.
const INSERT = statement(
  'certificate_insert',
  `insert into signing_certificates (fingerprint, chain, private_key, made, expires_at)
   values ($1, $2, $3, $4, $5) on conflict do nothing`,
);

/**
 * The certificate that signs: the operator's, or one that the first process makes for all. Call
 * `refresh` at once, for its metric, and every {@link CERTIFICATE_SECONDS}.
 * @param options.now milliseconds since 1970
 */
export async function openCertificate(options: {
  db: Database;
  given: SigningCertificate | undefined;
  now(): number;
}) {
  const { db, given } = options;
  const now = () => new Date(options.now());
  let current = given ?? (await readOrMake(db, now()));
  if (given) await insert(db, given, { privateKey: null, made: null });
  const refresh = async () => {
    if (!given) current = await readOrMake(db, now());
    report('certificate', { expiresAt: current.expiresAt });
  };
  return { current: () => current, refresh };
}

export const CERTIFICATE_SECONDS = 600;

async function readOrMake(db: Database, now: Date): Promise<SigningCertificate> {
  const made = await readMade(db);
  // A certificate that was made while a clock was ahead may not be valid yet.
  const fit = made.find(({ chain, expires_at: end }) => {
    const [own] = certificatesIn(chain);
    return own && own.validFromDate <= now && end > inYears(now, REPLACE_YEARS_BEFORE_END);
  });
  if (fit) return readCertificate({ chain: fit.chain, privateKey: fit.private_key }, now);
  // Valid since yesterday, because the clocks of other machines may be behind.
  const files = makeCertificate(new Date(now.getTime() - DAY_MS), inYears(now, VALID_YEARS));
  const number = (made[0]?.made ?? 0) + 1;
  await insert(db, readCertificate(files, now), { privateKey: files.privateKey, made: number });
  return readOrMake(db, now);
}

const DAY_MS = 86_400_000;

function inYears(from: Date, years: number): Date {
  return new Date(from.getTime() + years * 365.25 * DAY_MS);
}

async function insert(
  db: Database,
  { fingerprint, pem, expiresAt }: SigningCertificate,
  { privateKey, made }: { privateKey: string | null; made: number | null },
): Promise<void> {
  await db.query(INSERT, [fingerprint, pem, privateKey, made, expiresAt]);
}
