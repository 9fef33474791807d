-- oldest-program: 0001

-- A certificate that signed Content Credentials. Rows are kept, so that older videos are known.
create table signing_certificates (
  -- SHA-256 of the certificate, in hex.
  fingerprint text primary key,
  -- PEM: the certificate first, then its issuers.
  chain text not null,
  -- PKCS #8 in PEM. Null: given by CONTENT_CREDENTIALS_CERT; its key stays in the operator's file.
  private_key text,
  -- Counts those that the service made itself; null: given.
  made integer unique,
  expires_at timestamptz not null,
  created_at timestamptz not null default clock_now()
);

-- Of the bytes of an output, in hex; null: stored before there was this column, or another role.
alter table stored_objects add column sha256 text;
