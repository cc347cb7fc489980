import { Logger, makeWorkerUtils, run, type Task, type WorkerUtils } from 'graphile-worker'
import { perSecond } from '../harness/load.ts'
import { Meter } from '../harness/meter.ts'
import {
  BATCH,
  Bell,
  type Candidate,
  INSERT_ORDER,
  latenciesOf,
  PAYLOAD,
  type Place,
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

async function withUtils<T>({ url }: Place, work: (utils: WorkerUtils) => Promise<T>): Promise<T> {
  const utils = await makeWorkerUtils({ connectionString: url, logger })
  try {
    return await work(utils)
  } finally {
    await utils.release()
  }
}

async function withWorker<T>({ url }: Place, task: Task, work: () => Promise<T>): Promise<T> {
  const preset = { worker: { connectionString: url, logger, pollInterval: 100, ...FAST } }
  const runner = await run({ preset, taskList: { [TASK]: task }, noHandleSignals: true })
  try {
    return await work()
  } finally {
    await runner.stop()
  }
}

export const graphileWorker: Candidate = {
  prepare: place => withUtils(place, utils => utils.migrate()),
  enqueueBatches: (place, count) =>
    withUtils(place, utils => {
      const jobs = () => Array.from({ length: BATCH }, () => ({ identifier: TASK, payload: PAYLOAD }))
      return perSecond(count, () => repeat(count / BATCH, () => utils.addJobs(jobs())))
    }),
  enqueueSingle: (place, count) =>
    withUtils(place, utils => perSecond(count, () => repeat(count, () => utils.addJob(TASK, PAYLOAD)))),
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
  process(place, count) {
    const meter = new Meter(count)
    return withWorker(
      place,
      async () => meter.tick(),
      () => meter.rate(),
    )
  },
  /** A job that failed comes again after 2.7 s at the earliest: until then the others are in their first attempt. */
  failOnce(place, count) {
    const meter = new Meter(count * 2)
    const task: Task = async (_payload, { job }) => {
      meter.tick()
      if (job.attempts === 1) throw new Error('the card was declined')
    }
    return withWorker(place, task, async () => (await meter.rate()) / 2)
  },
  latencies(place, count) {
    const bell = new Bell()
    return withWorker(
      place,
      async () => bell.ring(),
      () => withUtils(place, utils => latenciesOf(count, () => utils.addJob(TASK, PAYLOAD), bell)),
    )
  },
}
