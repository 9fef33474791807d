interface Ids {
  accountId: string;
  tasks: string[];
}

/** The pages of an account, with their titles. */
export const accountPages = ({ tasks }: Pick<Ids, 'tasks'>) => [
  ['/playground', 'Playground'],
  ['/videos', 'Videos'],
  ...tasks.map((id) => [`/videos/${id}`]),
  ['/usage', 'Usage'],
  ['/keys', 'API keys'],
  ['/webhooks', 'Webhooks'],
  ['/credits', 'Credits'],
  ['/settings', 'Settings'],
];

/** The pages of an operator, with their titles. */
export const operatorPages = ({ accountId, tasks }: Ids) => [
  ['/operator', 'Operator'],
  ['/operator/tasks', 'Tasks'],
  ['/operator/tasks/held', 'Decide held tasks'],
  ...tasks.map((id) => [`/operator/tasks/${id}`]),
  ['/operator/reviews', 'Reviews'],
  ['/operator/actions', 'Actions'],
  ['/operator/reports', 'Reports'],
  ['/operator/providers', 'Providers'],
  ['/operator/accounts', 'Accounts'],
  [`/operator/accounts/${accountId}`, 'Account'],
  ['/operator/orders', 'Orders'],
  ['/operator/orphans', 'Orphan jobs'],
  ['/operator/find?text=nothing', 'Find'],
  ['/operator/set-up', 'Set-up'],
  ['/operator/audit', 'Audit'],
  ['/operator/brand', 'Brand'],
  ['/operator/commands', 'Commands'],
];
