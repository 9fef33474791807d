import type { Page } from 'playwright-core';

/** The price of 4 seconds by the mini model in 480p. */
export const CHEAPEST = 60;

/** Fills in the open playground. */
export async function fillIn(page: Page, prompt: string): Promise<void> {
  await page.getByLabel('Prompt').fill(prompt);
  await page.getByLabel('Model').selectOption('video-2.0-mini');
  await page.getByText('480p', { exact: true }).click();
  await page.getByLabel('Length').fill('4');
  const price = page.getByRole('region', { name: 'This video costs' });
  await price.getByText(String(CHEAPEST)).first().waitFor();
}

export function isPlayable(page: Page): Promise<boolean> {
  return page.evaluate(async () => {
    const video = document.querySelector('video');
    if (!video) return false;
    video.muted = true;
    await video.play();
    await new Promise((resolve) => video.addEventListener('timeupdate', resolve));
    return video.currentTime > 0;
  });
}
