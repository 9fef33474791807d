import type { PageBrand } from '../../server/src/site/pages/page-brand.ts';

/** The operator's brand, which is in each page. theme-before-paint.js applies its colour. */
export const brand: PageBrand = JSON.parse(
  document.querySelector<HTMLMetaElement>('meta[name=brand]')?.content ?? '{}',
);

/** The links that the operator has set. */
export function brandLinks(): { title: string; href: string }[] {
  const links = {
    Terms: brand.terms_url,
    Privacy: brand.privacy_url,
    Imprint: brand.imprint_url,
    Support: brand.support_email && `mailto:${brand.support_email}`,
  };
  return Object.entries(links).flatMap(([title, href]) => (href ? [{ title, href }] : []));
}
