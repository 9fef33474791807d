export { Framewright } from '@framewright/client';
