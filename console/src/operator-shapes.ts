import type { Result } from './site-api.ts';

export type OperatorAccount = Result<'GET /console/api/operator/accounts/:id'>;
export type OperatorAccountRow = Result<'GET /console/api/operator/accounts'>['items'][number];
export type OperatorActionRow = Result<'GET /console/api/operator/actions'>['items'][number];
export type OperatorAudit = Result<'GET /console/api/operator/audits'>['items'][number];
export type OperatorFigures = Result<'GET /console/api/operator/figures'>;
export type OperatorHeld = Result<'GET /console/api/operator/held'>;
export type OperatorMovement =
  Result<'GET /console/api/operator/accounts/:id/statement'>['items'][number];
export type OperatorOrder = Result<'GET /console/api/operator/orders'>['items'][number];
export type OperatorOrderDetails = Result<'GET /console/api/operator/orders/:id'>;
export type OperatorOrphan = Result<'GET /console/api/operator/orphans'>['items'][number];
export type OperatorProviders = Result<'GET /console/api/operator/providers'>;
export type OperatorTask = Result<'GET /console/api/operator/tasks/:id'>;
export type OperatorAttempt = OperatorTask['attempts'][number];
export type OperatorTaskRow = Result<'GET /console/api/operator/tasks'>['items'][number];
