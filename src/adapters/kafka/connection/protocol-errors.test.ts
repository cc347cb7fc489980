import { expect, it } from 'vitest'
import { CODE, explain, isRefusal } from './protocol-errors.ts'

/** As the client rejects a request to create a topic. */
function refused(serverErrorMessage: string): Error {
  const inner = Object.assign(new Error('not created'), {
    apiCode: CODE.invalidReplicationFactor,
    serverErrorMessage,
  })
  return Object.assign(new Error('failed'), { errors: [inner] })
}

it('E21: a cluster whose brokers are all late with their heartbeats is asked again', () => {
  const fenced = refused(
    'Unable to replicate the partition 1 time(s): All brokers are currently fenced, or …',
  )
  expect(isRefusal(fenced)).toBe(false)
  expect(explain('kafka:9092', "topic 'orders'", fenced).message).toMatch(
    /currently fenced.*check that it runs/,
  )
})

it('E21: a cluster with fewer brokers than replicas is refused with the option', () => {
  const few = refused(
    'The target replication factor of 3 cannot be reached because only 1 broker(s) are registered.',
  )
  expect(isRefusal(few)).toBe(true)
  expect(explain('kafka:9092', "topic 'orders'", few).message).toMatch(/only 1 broker.*`replicationFactor`/)
})
