import { expect, it } from 'vitest'
import { reportOf as rabbitmq } from '../chaos/campaign/report.ts'
import { reportOf as cluster } from '../chaos/cluster/report.ts'
import { FAULTS } from '../chaos/network/plan.ts'
import { reportOf as network } from '../chaos/network/report.ts'
import { reportOf as outbox } from '../chaos/outbox/report.ts'
import { reportOf as redis } from '../chaos/redis/report.ts'
import { reportOf as sigterm } from '../chaos/sigterm/report.ts'
import { reportOf as soak } from '../chaos/soak/report.ts'
import { readPage } from './markdown.ts'

/** Every figure is 0. Only the words of the report count here. */
const zeros = new Proxy({}, { get: () => 0 })
const result = {
  options: { seed: 1, messages: 10, queueType: 'quorum', broker: 'rabbitmq', faults: zeros },
  findings: zeros,
  tookMs: 0,
  released: 0,
  skipped: 0,
  missing: [],
} as never

it.each([
  ['RabbitMQ', rabbitmq],
  ['The outbox', outbox],
  ['Redis Streams', redis],
  ['Kafka', cluster],
  ['NATS', cluster],
  ['SIGTERM with slow handlers', sigterm],
])('F8: docs/campaigns.md has the rows that the campaign prints: %s', (heading, reportOf) => {
  const section = sectionOf(heading)
  const [, , ...rows] = reportOf(result)
  expect(rows.length).toBeGreaterThan(10)
  const labels = rows.map(row => row.split('|')[1]!.trim())
  expect(labels.filter(label => !section.includes(`| ${label} |`))).toEqual([])
})

it('F8: docs/campaigns.md has the table that the campaign of the network prints, and its faults', () => {
  const section = sectionOf('A broken network')
  expect(section).toContain(network([])[0])
  expect(Object.keys(FAULTS).filter(fault => !section.includes(`\n| ${fault} |`))).toEqual([])
})

it('F8: docs/campaigns.md has the tables that the soak prints', () => {
  const section = sectionOf('A soak')
  const heads = soak([]).filter(line => line.startsWith('| store'))
  expect(heads).toHaveLength(2)
  expect(heads.filter(line => !section.includes(line))).toEqual([])
})

function sectionOf(heading: string): string {
  const page = readPage('docs/campaigns.md').text
  return page.slice(page.indexOf(`## ${heading}`)).split(/\n## /)[0]!
}
