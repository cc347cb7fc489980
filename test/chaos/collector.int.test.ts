import { afterAll, describe, expect, it } from 'vitest'
import { uniqueName } from '../../src/testing/conformance/harness.ts'
import { findRabbitmq } from '../services/rabbitmq.ts'
import { SqliteFile } from '../support/sqlite-file.ts'
import { runCampaign } from './collector-campaign.ts'

const found = await findRabbitmq()
const server = found.found ? await found.start() : undefined
const file = new SqliteFile()
afterAll(async () => {
  file.remove()
  await server?.close()
})
const why = found.found ? '' : ` (skipped: ${found.why})`

describe.runIf(found.found)(`a killed collector${why}`, () => {
  // The long form: npm run chaos:collector
  it('E21: loses and duplicates no dead letter, at any point of the kill', async () => {
    const report = await runCampaign({
      url: server!.url,
      queue: uniqueName('killed'),
      queueType: 'quorum',
      letters: 3_000,
      path: file.path,
      kills: 2,
    })
    expect(report).toMatchObject({ missing: 0, doubled: 0, leftInQueue: 0 })
  })
})
