-- oldest-program: 0013
-- signup_grants was by the address without what follows a plus sign. At providers that deliver
-- several addresses to one mailbox it is by this mailbox now: mailboxOf in
-- server/src/sign-in/email-address.ts. Each account that is not erased and had the credits gets the
-- row of its mailbox; the rows of before stay.
insert into signup_grants (address_hash, granted_at)
select sha256(convert_to(one.mailbox, 'UTF8')), max(g.granted_at)
from (
  select untagged, case
      when domain in ('gmail.com', 'googlemail.com')
        then replace(split_part(untagged, '@', 1), '.', '') || '@gmail.com'
      when domain in ('proton.me', 'protonmail.com', 'protonmail.ch', 'pm.me')
        then translate(split_part(untagged, '@', 1), '._-', '') || '@' || domain
      else regexp_replace(domain, '^([^.]+)\.(fastmail\.(com|fm))$', '\1@\2')
    end as mailbox
  from (
    select untagged, split_part(untagged, '@', 2) as domain
    from (select regexp_replace(lower(email), '\+[^@]*@', '@') as untagged from accounts) a
  ) addresses
  where domain ~ '^(gmail\.com|googlemail\.com|proton\.me|protonmail\.(com|ch)|pm\.me|[^.]+\.fastmail\.(com|fm))$'
) one
join signup_grants g on g.address_hash = sha256(convert_to(one.untagged, 'UTF8'))
group by one.mailbox
on conflict (address_hash) do nothing;
