import { findKafka } from '../services/kafka.ts'
import { SqliteFile } from '../support/sqlite-file.ts'
import { type KafkaCampaignReport, runKafkaCampaign } from './kafka-collector-campaign.ts'

// The long form of kafka-collector.int.test.ts: npm run chaos:kafka-collector [LETTERS]
const letters = Number(process.argv[2] ?? 100_000)
const found = await findKafka()
if (!found.found) throw new Error(found.why)
const server = await found.start()
const reports: KafkaCampaignReport[] = []
try {
  for (const kills of [0, 5]) {
    const file = new SqliteFile()
    const topic = `chaos-${kills}`
    const report = await runKafkaCampaign({ brokers: server.brokers, topic, letters, path: file.path, kills })
    reports.push(report)
    process.stdout.write(`${describe(report)}\n`)
    file.remove()
  }
} finally {
  await server.close()
}
const isWrong = ({ missing, doubled, leftInTopic }: KafkaCampaignReport) =>
  missing + doubled + leftInTopic > 0
if (reports.some(isWrong)) process.exitCode = 1

function describe(report: KafkaCampaignReport): string {
  const { letters: expected, kills, missing, doubled, leftInTopic, savedTwice, perSecond } = report
  const speed = perSecond === undefined ? '' : `, ${perSecond} letters a second`
  return `${kills} kills: ${expected} letters, ${missing} lost, ${doubled} doubled, ${leftInTopic} left in the topic, ${savedTwice} saved again after a kill${speed}`
}
