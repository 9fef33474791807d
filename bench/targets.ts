/** What `npm run bench` compares its figures with; the unit is at the end of a name. */
export const TARGETS = {
  create: 2,
  manyCreate: 3,
  read: 1.2,
  ingest: 0.9,
  growth: 1.3,
  growthMegabytes: 64,
  endToEnd: 250,
  endToEndRatio: 1.5,
  endToEndCpu: 0.7,
  /** From a POST to its submit; from the end of a job to the response that says so. */
  submitMilliseconds: { p50: 30, p99: 100 },
  responseMilliseconds: { p50: 60, p99: 200 },
  idlePercent: 0.7,
  idleMegabytes: 200,
  waitingReadsMilliseconds: 300,
};
