import { GONE_LIFE } from './gone.ts';
import type { Life } from './life.ts';
import { OTHER_MODE_LIFE } from './other-mode.ts';
import { PACK_LIFE } from './pack.ts';
import { PLAN_LIFE } from './plan.ts';
import { RELOAD_LIFE } from './reload.ts';
import { UNPAID_PLAN_LIFE } from './unpaid-plan.ts';

/** All lives: a new one is a file of its own and a name here. */
export const LIVES: readonly Life[] = [
  PACK_LIFE,
  PLAN_LIFE,
  RELOAD_LIFE,
  UNPAID_PLAN_LIFE,
  GONE_LIFE,
  OTHER_MODE_LIFE,
];
