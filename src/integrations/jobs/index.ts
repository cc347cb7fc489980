export { type BullmqJobLike, bullmqProcessor } from './bullmq.ts'
export { type GraphileHelpersLike, graphileTask, graphileTasks } from './graphile-worker.ts'
export type { JobsOptions } from './options.ts'
export { type PgBossJobLike, pgBossHandler } from './pg-boss.ts'
