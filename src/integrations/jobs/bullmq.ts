import { type JobsOptions, jobRunner } from './options.ts'

/** What is needed of a BullMQ job. */
export interface BullmqJobLike {
  readonly name: string
}

/**
 * A processor whose jobs never fail because of a failure to track:
 * `new Worker('emails', bullmqProcessor(async job => …), { connection })`. The job's name is the one it was added with.
 */
export function bullmqProcessor<J extends BullmqJobLike, A extends readonly unknown[], R>(
  processor: (job: J, ...rest: A) => R,
  options: JobsOptions = {},
): (job: J, ...rest: A) => R {
  const run = jobRunner('bullmqProcessor', options)
  return (job, ...rest) => run(job.name, () => processor(job, ...rest))
}
