import { writeFile } from 'node:fs/promises';
import { buildDashboard } from './http/operations/dashboard.ts';

/** The file that operators import into Grafana. */
export const DASHBOARD_FILE = new URL('../../docs/operations/dashboard.json', import.meta.url);

/** The text of dashboard.json, made from the list of metrics. It is the same each time. */
export function dashboardText(): string {
  return `${JSON.stringify(buildDashboard(), null, 2)}\n`;
}

if (import.meta.main) await writeFile(DASHBOARD_FILE, dashboardText());
