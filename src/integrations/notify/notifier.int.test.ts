import { describe, expect, it } from 'vitest'
import { pagerdutyReceiver } from '../../../test/receivers/pagerduty.ts'
import { sentryReceiver } from '../../../test/receivers/sentry.ts'
import { slackReceiver } from '../../../test/receivers/slack.ts'
import { smtpReceiver } from '../../../test/receivers/smtp.ts'
import { webhookReceiver } from '../../../test/receivers/webhook.ts'
import { letterNotice, MINUTE, notifierWorld } from '../../../test/support/notifier-world.ts'
import { email, pagerduty, sentry, slack, webhook } from '../../adapters/sinks/index.ts'
import type { AlertDocument } from '../../core/alert/document.ts'
import { fixed } from '../../core/retry/fixed.ts'
import { TestTiming } from '../../testing/conformance/harness.ts'

const SECRET = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'
/** Real time; the driven clock stands still unless a test moves it. */
const timing = new TestTiming({})
const delivery = {
  retry: { attempts: 3, backoff: fixed({ delayMs: 1_000, jitter: 'none' }) },
  breaker: 'off',
} as const

async function fiveTargets() {
  const [chat, pager, mail, hook, errors] = await Promise.all([
    slackReceiver(),
    pagerdutyReceiver(),
    smtpReceiver(),
    webhookReceiver({ secret: SECRET }),
    sentryReceiver(),
  ])
  const to = {
    ops: slack({ url: chat.webhook }),
    pager: pagerduty({ url: pager.enqueue, routingKey: pager.routingKey }),
    mail: email({ url: mail.url, from: 'alerts@shop.example', to: 'ann@shop.example' }),
    hook: webhook({ url: hook.url, secret: SECRET }),
    errors: sentry({ dsn: errors.dsn }),
  }
  const close = () => Promise.all([chat, pager, mail, hook, errors].map(receiver => receiver.close()))
  return { chat, pager, mail, hook, errors, to, close }
}

describe('five targets', () => {
  it('S7: each is told that it fires, that it goes on, and that it is over', async () => {
    const { chat, pager, mail, hook, errors, to, close } = await fiveTargets()
    const { lose, notifier, clock } = notifierWorld({ to, service: 'shop' })
    await lose({ handler: 'billing' })
    await lose({ handler: 'billing' })
    await notifier.flush()
    await clock.advance(5 * MINUTE)
    await notifier.flush()
    await clock.advance(15 * MINUTE)
    await notifier.flush()
    const titles = chat.messages.map(({ text }) => text.slice(0, text.indexOf(':')))
    expect(titles).toEqual(['Firing', 'Still firing', 'Resolved'])
    expect(pager.alerts).toMatchObject([{ isOpen: false, triggers: 2, payload: { source: 'shop' } }])
    expect(mail.mails.map(({ headers }) => headers.get('subject')?.split(':')[0])).toEqual([
      '[Lazaret] Firing',
      '[Lazaret] Still firing',
      '[Lazaret] Resolved',
    ])
    const documents = hook.taken.map(({ data }) => data as AlertDocument)
    expect(documents.map(({ status, count }) => [status, count])).toEqual([
      ['firing', 1],
      ['update', 2],
      ['resolved', 2],
    ])
    // Sentry has no end of an alert: the end is an event of level info, and shown with the next event.
    expect(errors.arrivals).toMatchObject([
      { level: 'error', fingerprint: [documents[0]!.key] },
      { level: 'error', fingerprint: [documents[0]!.key] },
    ])
    await notifier.close()
    await close()
  })
})

describe('a target that is down', () => {
  it('S7: is tried again, then there is a dead letter, and replaying it delivers', async () => {
    const receiver = await pagerdutyReceiver()
    const to = { pager: pagerduty({ url: receiver.enqueue, routingKey: receiver.routingKey }) }
    const { lose, notifier, clock, letters } = notifierWorld({ to, delivery })
    receiver.misbehave({ status: 503 })
    await lose()
    await delivered(() => receiver.requests.length === 3, clock)
    await notifier.flush()
    const [letter] = await letters()
    expect(letter).toMatchObject({
      handler: 'pager',
      cycle: { attemptCount: 3, reason: 'attempts_exhausted' },
    })
    expect(JSON.stringify(letter)).not.toContain(receiver.routingKey)
    receiver.misbehave(undefined)
    await notifier.resend(letter!)
    expect(receiver.alerts).toMatchObject([{ isOpen: true, triggers: 1 }])
    await notifier.close()
    await receiver.close()
  })

  it('B1: that asks for a pause gets it', async () => {
    const receiver = await slackReceiver()
    const { lose, notifier, clock } = notifierWorld({ to: { ops: slack({ url: receiver.webhook }) } })
    receiver.misbehaveNext({ status: 429, headers: { 'retry-after': '30' } })
    await lose()
    await timing.eventually(() => receiver.requests.length === 1, 'the first try')
    await timing.quiet()
    await clock.advance(29_000)
    await timing.quiet()
    expect(receiver.requests).toHaveLength(1)
    await clock.advance(1_000)
    await notifier.flush()
    expect(receiver.messages).toHaveLength(1)
    await notifier.close()
    await receiver.close()
  })
})

describe('a storm', () => {
  it('S7: of 10 000 failures of 500 causes is few messages, whose counts add up', async () => {
    const receiver = await webhookReceiver({ secret: SECRET })
    const to = { hook: webhook({ url: receiver.url, secret: SECRET, concurrency: 1 }) }
    const { make, notifier, clock } = notifierWorld({ to })
    const causes = Array.from({ length: 500 }, (_, n) =>
      letterNotice(make.letter({ handler: `handler ${n}` })),
    )
    for (let n = 0; n < 10_000; n++) {
      await notifier.notify(causes[n % causes.length]!)
      if (n % 1_000 === 999) await clock.advance(10_000)
    }
    await notifier.close()
    const documents = receiver.taken.map(({ data }) => data as AlertDocument)
    expect(documents.reduce((sum, { newCount }) => sum + newCount, 0)).toBe(10_000)
    // 100 s: two times the limit at most, and a digest a minute and one at the end.
    const digests = documents.filter(({ kind }) => kind === 'digest')
    expect(documents.length - digests.length).toBeLessThanOrEqual(60)
    expect(digests.length).toBeLessThanOrEqual(3)
    expect(notifier.health().open.length).toBeLessThanOrEqual(200)
    await receiver.close()
  })
})

async function delivered(isSo: () => boolean, clock: { advance(ms: number): Promise<void> }): Promise<void> {
  await timing.eventually(async () => {
    await clock.advance(200)
    return isSo()
  }, 'the deliveries')
}
