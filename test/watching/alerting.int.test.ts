import { readFileSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { TestTiming } from '../../src/testing/conformance/harness.ts'
import { faster, RULES } from '../deploy/rules.ts'
import { startReceiver } from '../receivers/receiver.ts'
import { findAlertmanager, startAlertmanager } from '../services/alertmanager.ts'
import { findPrometheus, startPrometheus } from '../services/prometheus.ts'
import { startDemo } from '../support/demo-process.ts'
import { withTempFolder } from '../support/folder.ts'

const found = [await findPrometheus(), await findAlertmanager()]
const isThere = found.every(each => each.found)
const why = isThere ? '' : ' (skipped: it needs Prometheus and Alertmanager)'
const timing = new TestTiming({})
/** Minutes of the rules are so many times as short, and so is the demo's time. */
const RULES_FASTER = 30
const DEMO_FASTER = 2

interface Notified {
  readonly status: 'firing' | 'resolved'
  readonly labels: Readonly<Record<string, string>>
  readonly annotations: Readonly<Record<string, string>>
}

describe.skipIf(!isThere)(`a Prometheus and an Alertmanager${why}`, () => {
  it('E20/F/P: send an alert when a breaker opens, and when it has closed', async () => {
    await using world = await startWorld()
    const { press, told } = world
    const of = (status: Notified['status']) =>
      told().filter(
        ({ labels: { alertname, name }, ...each }) =>
          // The demo opens the breaker of another sink by itself.
          alertname === 'LazaretBreakerOpen' && name === 'ship-order' && each.status === status,
      )

    await press('break-warehouse')
    await timing.eventually(() => of('firing').length > 0, 'the alert is delivered')
    expect(of('firing')[0]).toMatchObject({
      labels: {
        alertname: 'LazaretBreakerOpen',
        severity: 'critical',
        job: 'lazaret-shop',
        name: 'ship-order',
      },
      annotations: {
        summary: 'The breaker of ship-order is open',
        runbook_url: 'docs/runbooks/breaker-open.md',
      },
    })
    expect(of('resolved')).toEqual([])

    await press('fix-warehouse')
    await timing.eventually(() => of('resolved').length > 0, 'it is told that it has closed')
  })
})

/** The demo, a Prometheus that scrapes it each second, an Alertmanager, and its receivers. */
async function startWorld() {
  const closing = new AsyncDisposableStack()
  const folder = Promise.withResolvers<string>()
  const over = Promise.withResolvers<void>()
  const cleaned = withTempFolder(async dir => {
    folder.resolve(dir)
    await over.promise
  })
  closing.defer(async () => {
    over.resolve()
    await cleaned
  })
  const dir = await folder.promise
  const pager = await startReceiver(() => ({ status: 200 }))
  closing.defer(() => pager.close())
  const demo = startDemo(dir, { pace: DEMO_FASTER, args: ['--port', '0'] })
  closing.defer(async () => {
    demo.interrupt()
    await demo.ended
  })
  const alertmanager = await startAlertmanager({
    route: {
      receiver: 'pager',
      group_by: ['alertname', 'name'],
      group_wait: '1s',
      group_interval: '1s',
      repeat_interval: '1h',
    },
    receivers: [{ name: 'pager', webhook_configs: [{ url: pager.url, send_resolved: true }] }],
  })
  closing.defer(() => alertmanager.close())
  const { url } = await demo.told
  const rules = join(dir, 'lazaret.rules.yaml')
  await writeFile(rules, faster(readFileSync(RULES, 'utf8'), RULES_FASTER))
  const prometheus = await startPrometheus({
    global: { scrape_interval: '1s', evaluation_interval: '1s' },
    rule_files: [rules],
    alerting: { alertmanagers: [{ static_configs: [{ targets: [new URL(alertmanager.url).host] }] }] },
    scrape_configs: [{ job_name: 'lazaret-shop', static_configs: [{ targets: [new URL(url).host] }] }],
  })
  closing.defer(() => prometheus.close())
  return {
    [Symbol.asyncDispose]: () => closing.disposeAsync(),
    async press(action: string) {
      const headers = { 'content-type': 'application/json', origin: url }
      const answer = await fetch(`${url}/api/v1/demo/${action}`, { method: 'POST', headers, body: '{}' })
      expect(answer.status, action).toBe(200)
    },
    told: (): readonly Notified[] =>
      pager.requests.flatMap(({ body }) => JSON.parse(body.toString('utf8')).alerts as Notified[]),
  }
}
