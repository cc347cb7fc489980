import { systemClock } from '../../src/ports/clock.ts'
import { findRabbitmq } from '../services/rabbitmq.ts'
import { SqliteFile } from '../support/sqlite-file.ts'
import { type CampaignReport, runCampaign } from './collector-campaign.ts'

// The long form of collector.int.test.ts: npm run chaos:collector [LETTERS]
const letters = Number(process.argv[2] ?? 100_000)
const found = await findRabbitmq()
if (!found.found) throw new Error(found.why)
const server = await found.start()
const reports: [string, CampaignReport][] = []
try {
  for (const [queueType, kills] of [
    ['quorum', 0],
    ['classic', 0],
    ['quorum', 5],
    ['classic', 5],
  ] as const) {
    const file = new SqliteFile()
    const queue = `chaos-${queueType}-${kills}-${systemClock.now()}`
    const report = await runCampaign({ url: server.url, queue, queueType, letters, path: file.path, kills })
    reports.push([queueType, report])
    process.stdout.write(`${describe(queueType, report)}\n`)
    file.remove()
  }
} finally {
  await server.close()
}
const isWrong = ({ missing, doubled, leftInQueue }: CampaignReport) => missing + doubled + leftInQueue > 0
if (reports.some(([, report]) => isWrong(report))) process.exitCode = 1

function describe(queueType: string, report: CampaignReport): string {
  const { letters: expected, kills, missing, doubled, leftInQueue, savedTwice, perSecond } = report
  const speed = perSecond === undefined ? '' : `, ${perSecond} letters a second`
  return `${queueType} queue, ${kills} kills: ${expected} letters, ${missing} lost, ${doubled} doubled, ${leftInQueue} left in the queue, ${savedTwice} saved again after a kill${speed}`
}
