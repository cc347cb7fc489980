import { Logger, makeWorkerUtils, run, type Task, type WorkerUtils } from 'graphile-worker'
import { perSecond } from '../harness/load.ts'
import { Meter } from '../harness/meter.ts'
import {
  BATCH,
  type BenchDatabase,
  type Candidate,
  HandlerSignal,
  INSERT_ORDER,
  latenciesOf,
  PAYLOAD,
  repeat,
} from './candidate.ts'

const TASK = 'orders'
const logger = new Logger(() => () => {})
const ADD_JOB = 'select graphile_worker.add_job($1, $2::json)'

/** As its page on performance has it: https://worker.graphile.org/docs/performance. */
const FAST = {
  concurrentJobs: 24,
  maxPoolSize: 25,
  localQueue: { size: 500 },
  completeJobBatchDelay: 0,
  failJobBatchDelay: 0,
} as const

async function withUtils<T>({ url }: BenchDatabase, work: (utils: WorkerUtils) => Promise<T>): Promise<T> {
  const utils = await makeWorkerUtils({ connectionString: url, logger })
  try {
    return await work(utils)
  } finally {
    await utils.release()
  }
}

async function withWorker<T>({ url }: BenchDatabase, task: Task, work: () => Promise<T>): Promise<T> {
  const preset = { worker: { connectionString: url, logger, pollInterval: 100, ...FAST } }
  const runner = await run({ preset, taskList: { [TASK]: task }, noHandleSignals: true })
  try {
    return await work()
  } finally {
    await runner.stop()
  }
}

export const graphileWorker: Candidate = {
  prepare: database => withUtils(database, utils => utils.migrate()),
  enqueueBatches: (database, count) =>
    withUtils(database, utils => {
      const jobs = () => Array.from({ length: BATCH }, () => ({ identifier: TASK, payload: PAYLOAD }))
      return perSecond(count, () => repeat(count / BATCH, () => utils.addJobs(jobs())))
    }),
  enqueueSingle: (database, count) =>
    withUtils(database, utils => perSecond(count, () => repeat(count, () => utils.addJob(TASK, PAYLOAD)))),
  async enqueueInTransaction({ pool }, count) {
    const tx = await pool.connect()
    const rate = await perSecond(count, () =>
      repeat(count, async () => {
        await tx.query('begin')
        await tx.query(INSERT_ORDER)
        await tx.query(ADD_JOB, [TASK, JSON.stringify(PAYLOAD)])
        await tx.query('commit')
      }),
    )
    tx.release()
    return rate
  },
  process(database, count) {
    const meter = new Meter(count)
    return withWorker(
      database,
      async () => meter.tick(),
      () => meter.rate(),
    )
  },
  /** A job that failed comes again after 2.7 s at the earliest: until then the others are in their first attempt. */
  failOnce(database, count) {
    const meter = new Meter(count * 2)
    const task: Task = async (_payload, { job }) => {
      meter.tick()
      if (job.attempts === 1) throw new Error('the card was declined')
    }
    return withWorker(database, task, async () => (await meter.rate()) / 2)
  },
  latencies(database, count) {
    const handlerSignal = new HandlerSignal()
    return withWorker(
      database,
      async () => handlerSignal.notify(),
      () =>
        withUtils(database, utils => latenciesOf(count, () => utils.addJob(TASK, PAYLOAD), handlerSignal)),
    )
  },
}
