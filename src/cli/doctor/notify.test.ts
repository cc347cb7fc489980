import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { ROOT } from '../../../test/support/source.ts'
import { parseConfig } from '../../config/config.ts'
import { checkRoutes } from './notify.ts'

const env = { SLACK_WEBHOOK: 'https://hooks.slack.com/services/x', PAGERDUTY_KEY: 'k'.repeat(32) }
const checks = (yaml: string) => checkRoutes(parseConfig(yaml, 'lazaret.yaml', env))

describe('the doctor', () => {
  it('F8: says which targets would never get an alert', () => {
    const to = `type: slack, url: '${env.SLACK_WEBHOOK}'`
    const found = checks(`notify:
  targets:
    pager: { ${to}, atLeast: critical }
    letters: { ${to}, kinds: [dead_letter] }
    ops: { ${to}, atLeast: warning }
    backup: { ${to}, kinds: [alert_undelivered] }`)
    expect(found.map(({ status, remedy }) => [status, remedy])).toEqual([
      [
        'warn',
        'set atLeast of notify.targets.pager to warning or remove it, and add channel_alert to its kinds',
      ],
      [
        'warn',
        'set atLeast of notify.targets.letters to warning or remove it, and add channel_alert to its kinds',
      ],
    ])
  })

  it('F7: finds no such target in the example of the docs', () => {
    const page = readFileSync(join(ROOT, 'docs/reference/config.md'), 'utf8')
    const [, notify = ''] = /^(notify:\n(?: .*\n)+)/m.exec(page) ?? []
    expect(notify).toContain('pagerduty')
    expect(checks(notify)).toEqual([])
  })
})
