/** The values of OTEL_TRACES_SAMPLER. */
export const SAMPLERS = [
  'always_on',
  'always_off',
  'traceidratio',
  'parentbased_always_on',
  'parentbased_always_off',
  'parentbased_traceidratio',
] as const;

/** Which traces are recorded. */
export interface TracingSettings {
  sampler: (typeof SAMPLERS)[number];
  /** The share of the traces that a sampler by ratio records, 0 to 1. */
  ratio: number;
}
