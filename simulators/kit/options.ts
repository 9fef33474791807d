import { parseArgs } from 'node:util';

/** The command line of a simulator. */
export type SimulatorOptions = ReturnType<typeof readOptions>;

const OPTIONS = {
  port: { value: 'N', default: '0', about: 'its port; 0 picks a free one' },
  record: { value: 'FILE', about: 'keeps the accepted jobs; must be given' },
  'job-seconds': { value: 'N', default: '0.3', about: 'from acceptance to the end of a job' },
  'output-file': { value: 'FILE', default: '', about: 'every output; without it, a drawn video' },
  'until-stdin-ends': { about: 'ends when standard input ends' },
};

/** Reads the command line of a simulated provider. */
export function readOptions(name: string) {
  const about =
    'Simulates a video provider, for trials and tests only. See simulators/kit/README.md.';
  const line = readCommandLine(`provider.ts ${name}`, about, OPTIONS);
  return {
    /** 0 picks a free port. */
    port: line.number('port'),
    /** The file of the durable record. */
    record: line.text('record'),
    /** From acceptance to the end of a job; for the first third it is in the queue. */
    jobSeconds: line.number('job-seconds'),
    /** The file that every output is; without it, a video of the requested size and length. */
    outputFile: line.text('output-file') || undefined,
    /** The simulator ends when the process that started it ends or is killed. */
    untilStdinEnds: line.flag('until-stdin-ends'),
  };
}

/** An option of a simulator's command line. */
export interface Option {
  about: string;
  /** What stands for its value in the usage; an option without it is a flag. */
  value?: string;
  /** Without it, the option must be given. */
  default?: string;
}

const HELP: Option = { about: 'prints this text' };
const USAGE_ERROR = 2;

/**
 * Reads the command line. Three things end the program: `--help`, an unknown option, and reading an
 * option that is missing or not a number.
 */
export function readCommandLine<Name extends string>(
  name: string,
  about: string,
  options: Record<Name, Option>,
) {
  const all: [string, Option][] = [...Object.entries<Option>(options), ['help', HELP]];
  const given = parse(name, all);
  if (given.help === true) {
    console.log(usage(name, about, all));
    process.exit(0);
  }
  const text = (option: Name): string => {
    const value = given[option] ?? options[option].default;
    return typeof value === 'string' ? value : refuse(name, `--${option} is missing`);
  };
  return {
    text,
    /** At least 0. */
    number(option: Name): number {
      const value = Number(text(option) || Number.NaN);
      return value >= 0 ? value : refuse(name, `--${option} must be a number, at least 0`);
    },
    flag: (option: Name) => given[option] === true,
  };
}

function parse(name: string, options: [string, Option][]) {
  const types = options.map(([option, { value }]) => {
    return [option, { type: value === undefined ? 'boolean' : 'string' }] as const;
  });
  try {
    return parseArgs({ options: Object.fromEntries(types) }).values;
  } catch (error) {
    const [reason = ''] = String(error instanceof Error ? error.message : error).split(/\.\s/);
    return refuse(name, reason);
  }
}

function usage(name: string, about: string, options: [string, Option][]): string {
  const rows = options.map(([option, { value, about, default: preset }]) => {
    const left = value === undefined ? `--${option}` : `--${option} ${value}`;
    return `  ${left.padEnd(24)}${about}${preset ? ` (${preset})` : ''}`;
  });
  return `Usage: npx node simulators/${name} [options]\n\n${about}\n\n${rows.join('\n')}`;
}

function refuse(name: string, reason: string): never {
  console.error(`${reason}. See npx node simulators/${name} --help`);
  process.exit(USAGE_ERROR);
}
