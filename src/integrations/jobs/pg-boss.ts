import { type JobsOptions, jobRunner } from './options.ts'

/** What is needed of a pg-boss job. Its name is that of its queue, so all jobs of a batch have the same. */
export interface PgBossJobLike {
  readonly name: string
}

/**
 * A handler whose jobs never fail because of a failure to track:
 * `boss.work('send-email', pgBossHandler(async jobs => …))`. It gets the batch as pg-boss hands it over.
 */
export function pgBossHandler<J extends PgBossJobLike, A extends readonly unknown[], R>(
  handler: (jobs: J[], ...rest: A) => R,
  options: JobsOptions = {},
): (jobs: J[], ...rest: A) => R {
  const run = jobRunner('pgBossHandler', options)
  return (jobs, ...rest) => {
    const [first] = jobs
    return first === undefined ? handler(jobs, ...rest) : run(first.name, () => handler(jobs, ...rest))
  }
}
