import { brand } from '../brand.ts';
import { Link } from './button.tsx';

/** Where customers get credits if none are sold. */
export function AskForCredits() {
  const { support_email: email } = brand;
  return (
    <>
      Ask {email ? <Link href={`mailto:${email}`}>{email}</Link> : 'the operator of this service'}{' '}
      when you need more credits.
    </>
  );
}
