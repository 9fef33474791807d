import type { FunctionComponent } from 'preact';
import { useLocation } from 'preact-iso';
import { NotFound } from '../not-found/not-found.tsx';
import { AccountPage } from './account.tsx';
import { BrandPage } from './brand.tsx';
import { FindPage } from './find.tsx';
import { AccountsPage, ActionsPage, AuditPage, CommandsPage } from './lists.tsx';
import { OrderPage, OrdersPage } from './orders.tsx';
import { OverviewPage } from './overview.tsx';
import { OrphansPage, ProvidersPage } from './providers.tsx';
import { ReportPage, ReportsPage } from './reports.tsx';
import { ReviewsPage } from './reviews.tsx';
import { SetUpPage } from './set-up.tsx';
import { TaskPage } from './task.tsx';
import { HeldPage, TasksPage } from './tasks.tsx';

type OnePage = FunctionComponent<{ id: string }>;

/** List and item pages, by path below /operator. */
const PAGES = new Map<string, [list: FunctionComponent, one?: OnePage]>([
  ['', [OverviewPage]],
  ['find', [FindPage]],
  ['tasks', [TasksPage, TaskPage]],
  ['reviews', [ReviewsPage]],
  ['reports', [ReportsPage, ReportPage]],
  ['providers', [ProvidersPage]],
  ['accounts', [AccountsPage, AccountPage]],
  ['orders', [OrdersPage, OrderPage]],
  ['orphans', [OrphansPage]],
  ['set-up', [SetUpPage]],
  ['audit', [AuditPage]],
  ['actions', [ActionsPage]],
  ['brand', [BrandPage]],
  ['commands', [CommandsPage]],
]);

export default function OperatorPages() {
  const { path } = useLocation();
  const [, , name = '', id = ''] = path.split('/').map(decodeURIComponent);
  if (name === 'tasks' && id === 'held') return <HeldPage />;
  const [List = NotFound, One] = PAGES.get(name) ?? [];
  if (id === '') return <List />;
  return One ? <One key={id} id={id} /> : <NotFound />;
}
