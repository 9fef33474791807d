import { useLocation } from 'preact-iso';
import { NotFound } from '../not-found/not-found.tsx';
import { AccountPage } from './account.tsx';
import { AccountsPage } from './accounts.tsx';
import { ActionsPage } from './actions.tsx';
import { AuditPage } from './audit.tsx';
import { CommandsPage } from './commands.tsx';
import { OrderPage, OrdersPage } from './orders.tsx';
import { OverviewPage } from './overview.tsx';
import { OrphansPage, ProvidersPage } from './providers.tsx';
import { TaskPage } from './task.tsx';
import { HeldPage, TasksPage } from './tasks.tsx';

/** The pages of the operator's console, by the path below /operator. */
export default function OperatorPages() {
  const { path } = useLocation();
  const [, , name = '', id = ''] = path.split('/').map(decodeURIComponent);
  switch (name) {
    case '':
      return <OverviewPage />;
    case 'tasks':
      if (id === 'held') return <HeldPage />;
      return id === '' ? <TasksPage /> : <TaskPage id={id} key={id} />;
    case 'providers':
      return <ProvidersPage />;
    case 'accounts':
      return id === '' ? <AccountsPage /> : <AccountPage id={id} key={id} />;
    case 'orders':
      return id === '' ? <OrdersPage /> : <OrderPage id={id} key={id} />;
    case 'orphans':
      return <OrphansPage />;
    case 'audit':
      return <AuditPage />;
    case 'actions':
      return <ActionsPage />;
    case 'commands':
      return <CommandsPage />;
    default:
      return <NotFound />;
  }
}
