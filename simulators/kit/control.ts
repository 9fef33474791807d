import { type Static, Type } from 'typebox';
import { Value } from 'typebox/value';
import type { SimulatedResponse } from './exchange.ts';
import { type FaultSource, PlanSchema } from './faults.ts';
import type { BaseJob } from './record.ts';
import type { SimulatedCall, Simulation } from './simulation.ts';

/** A request that arrived, including one that was reset before its body was read. */
export const RequestLineSchema = Type.Object({
  call: Type.String(),
  method: Type.String(),
  path: Type.String(),
  /** Milliseconds since 1970. */
  at: Type.Number(),
});
export type RequestLine = Static<typeof RequestLineSchema>;

/** The calls under `/_simulator` with which a test controls and inspects a simulator. */
export function controlCalls<Job extends BaseJob>(
  simulation: Simulation<Job>,
  faults: FaultSource,
  lines: RequestLine[],
): SimulatedCall[] {
  const { record } = simulation;
  const call = (method: string, path: RegExp, work: SimulatedCall['work']): SimulatedCall => {
    return { name: 'control', method, path, work };
  };
  return [
    call('GET', /^\/_simulator\/jobs$/, () => ok(record.all())),
    call('GET', /^\/_simulator\/requests$/, () => ok(lines)),
    call('GET', /^\/_simulator\/faults$/, () => ok(faults.pending())),
    call('DELETE', /^\/_simulator\/faults$/, () => {
      faults.clear();
      return ok([]);
    }),
    call('POST', /^\/_simulator\/faults$/, ({ body }) =>
      checked(() => faults.add(Value.Parse(PlanSchema, JSON.parse(body.toString())))),
    ),
    call('POST', /^\/_simulator\/jobs\/([^/]+)$/, ({ body, groups: [id = ''] }) =>
      checked(() => {
        const job = record.get(id);
        if (!job) throw new Error(`no job ${id}`);
        record.put(simulation.parse({ ...job, ...JSON.parse(body.toString()) }));
      }),
    ),
  ];
}

function ok(json: unknown): SimulatedResponse {
  return { status: 200, json };
}

/** Turns a mistake in a control call into a 400 with its cause. */
function checked(work: () => void): SimulatedResponse {
  try {
    work();
    return ok({});
  } catch (error) {
    return { status: 400, json: { error: String(error) } };
  }
}
