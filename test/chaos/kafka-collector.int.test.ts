import { afterAll, describe, expect, it } from 'vitest'
import { uniqueName } from '../../src/testing/conformance/harness.ts'
import { findKafka } from '../services/kafka.ts'
import { SqliteFile } from '../support/sqlite-file.ts'
import { runKafkaCampaign } from './kafka-collector-campaign.ts'

const found = await findKafka()
const server = found.found ? await found.start() : undefined
const file = new SqliteFile()
afterAll(async () => {
  file.remove()
  await server?.close()
})
const why = found.found ? '' : ` (skipped: ${found.why})`

describe.runIf(found.found)(`a killed collector of Kafka${why}`, () => {
  // The long form: npm run chaos:kafka-collector
  it('E21: loses and duplicates no dead letter, at any point of the kill', async () => {
    const report = await runKafkaCampaign({
      brokers: server!.brokers,
      topic: uniqueName('killed'),
      letters: 3_000,
      path: file.path,
      kills: 2,
    })
    expect(report).toMatchObject({ missing: 0, doubled: 0, leftInTopic: 0 })
  })
})
