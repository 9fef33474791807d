import { parseArgs } from 'node:util';

/** The command line of a simulator. */
export interface SimulatorOptions {
  host: string;
  /** 0 picks a free port. */
  port: number;
  /** The file of the durable record. */
  record: string;
  /** Share of the requests that get a drawn fault, 0 to 1. */
  faultRate: number;
  seed: number;
  /** From acceptance to the end of a job; for the first third it is in the queue. */
  jobSeconds: number;
  /** How long the links to an output work after the end of its job. */
  outputSeconds: number;
  /** The file that every output is; without it, a video of the requested size and length. */
  outputFile: string | undefined;
  /** The simulator ends when the process that started it ends or is killed. */
  untilStdinEnds: boolean;
}

const USAGE = `node simulators/NAME/main.ts --port N --record FILE
  [--host 127.0.0.1] [--fault-rate 0] [--seed 1] [--job-seconds 0.3] [--output-seconds 3600]
  [--output-file FILE] [--until-stdin-ends]`;

/** @throws Error when an option is unknown; with the usage, when it is missing or not a number */
export function readOptions(args: string[]): SimulatorOptions {
  const text = { type: 'string' } as const;
  const { values } = parseArgs({
    args,
    options: {
      host: { ...text, default: '127.0.0.1' },
      port: text,
      record: text,
      'fault-rate': { ...text, default: '0' },
      seed: { ...text, default: '1' },
      'job-seconds': { ...text, default: '0.3' },
      'output-seconds': { ...text, default: '3600' },
      'output-file': text,
      'until-stdin-ends': { type: 'boolean', default: false },
    },
  });
  if (values.record === undefined) throw new Error(USAGE);
  return {
    host: values.host,
    port: toNumber(values.port),
    record: values.record,
    faultRate: toNumber(values['fault-rate']),
    seed: toNumber(values.seed),
    jobSeconds: toNumber(values['job-seconds']),
    outputSeconds: toNumber(values['output-seconds']),
    outputFile: values['output-file'],
    untilStdinEnds: values['until-stdin-ends'],
  };
}

function toNumber(text: string | undefined): number {
  const value = Number(text ?? Number.NaN);
  if (!(value >= 0)) throw new Error(USAGE);
  return value;
}
