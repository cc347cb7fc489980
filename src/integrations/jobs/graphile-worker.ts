import { type JobsOptions, jobRunner, type RunJob } from './options.ts'

/** What is needed of the helpers that graphile-worker hands to a task. */
export interface GraphileHelpersLike {
  readonly job: { readonly task_identifier: string }
}

type Task<P, H extends GraphileHelpersLike, R> = (payload: P, helpers: H) => R

/** A task whose jobs never fail because of a failure to track. The job's name is its task identifier. */
export function graphileTask<P, H extends GraphileHelpersLike, R>(
  task: Task<P, H, R>,
  options: JobsOptions = {},
): Task<P, H, R> {
  return wrapped(task, jobRunner('graphileTask', options))
}

/** The same for a whole task list: `run({ taskList: graphileTasks({ … }) })`. */
// biome-ignore lint/suspicious/noExplicitAny: each task has a payload of its own
export function graphileTasks<T extends Readonly<Record<string, Task<any, any, unknown>>>>(
  tasks: T,
  options: JobsOptions = {},
): T {
  const run = jobRunner('graphileTasks', options)
  return Object.fromEntries(Object.entries(tasks).map(([name, task]) => [name, wrapped(task, run)])) as T
}

function wrapped<P, H extends GraphileHelpersLike, R>(task: Task<P, H, R>, run: RunJob): Task<P, H, R> {
  return (payload, helpers) => run(helpers.job.task_identifier, () => task(payload, helpers))
}
