import { resolveOptions } from '../../core/options/resolve.ts'
import { optional, type Rule } from '../../core/options/rules.ts'
import { asJob, type OnTrackingFailure } from '../../runtime/dispatcher/track/tracking-mode.ts'

/** Options of the integrations with job queues. */
export interface JobsOptions {
  /**
   * What a tracking failure does to its job: `swallow` lets the job continue, `throw` fails it, for work that must not be
   * done without its events. A function gets the name of each job [`failOnErrorIn` of the dispatcher, which swallows].
   */
  readonly onFailure?: OnTrackingFailure | ((job: string) => OnTrackingFailure) | undefined
}

const onFailureRule: Rule<JobsOptions['onFailure']> = {
  read(value, path, faults) {
    const isKnown = typeof value === 'function' || value === 'throw' || value === 'swallow'
    if (!isKnown) faults.add(path, value, "give 'swallow', 'throw', or a function of the job's name")
    return value as JobsOptions['onFailure']
  },
}

const rules = { onFailure: optional(onFailureRule) }

/** As long as a job's name may be on letters and metrics. */
const MAX_NAME = 200

/** Runs a job by its name, as the options say. Wrong options are found before the first job. */
export type RunJob = <R>(name: string, work: () => R) => R

export function jobRunner(subject: string, options: JobsOptions): RunJob {
  const { onFailure } = resolveOptions(subject, rules, options)
  return (name, work) => {
    // A name that a queue allows must not fail a job here.
    const job = name.slice(0, MAX_NAME) || 'unnamed'
    const mode = typeof onFailure === 'function' ? onFailure(name) : onFailure
    return asJob(job, work, { onFailure: mode })
  }
}
