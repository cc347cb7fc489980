import { describe, expect, it } from 'vitest'
import { slackReceiver } from '../../../../test/receivers/slack.ts'
import { alertEvent } from '../../../../test/support/alerts.ts'
import { failureOf, make, never, withReceiver } from '../../../../test/support/sinks.ts'
import { classify } from '../../../core/failure/classify.ts'
import { sinkConformance } from '../../../testing/conformance/sink.ts'
import { slack } from './slack.ts'

const SECRET = 'XXXXXXXXXXXXXXXXXXXXXXXX'

describe('slack sink', () => {
  sinkConformance({
    test: it,
    declares: { setFailing: true, hang: true, refuse: false },
    // A request for each.
    many: 100,
    setup: async () => {
      const receiver = await slackReceiver()
      return {
        sink: slack({ url: receiver.webhook }),
        received: async () =>
          receiver.messages.map(({ blocks }) => /\*Event\*\\n([\w-]+)/.exec(JSON.stringify(blocks))![1]!),
        setFailing: isFailing => receiver.misbehave(isFailing ? { status: 503 } : undefined),
        hang: () => receiver.misbehave('hang'),
        cleanup: receiver.close,
      }
    },
  })

  it('S7: an alert says what failed, with its fields, its last error and where to look', async () => {
    await withReceiver(slackReceiver(), async (receiver, open) => {
      await open(slack({ url: receiver.webhook })).write([alertEvent()], never())
      const [message] = receiver.messages
      expect(message?.text).toContain('Firing: Dead letters in orders: Error: connect ECONNREFUSED')
      const shown = JSON.stringify(message?.blocks)
      for (const part of ['e-1', 'order.placed', '/shop/checkout', '*Handler*\\nbilling', '*Attempts*\\n3'])
        expect(shown).toContain(part)
      expect(shown).toContain('```Error: connect ECONNREFUSED```')
      expect(shown).toContain('<https://lazaret.example/letters/letter-1|Letter>')
    })
  })

  it('S7: a text calls nobody and links nowhere, however long it is', async () => {
    await withReceiver(slackReceiver(), async (receiver, open) => {
      const sink = open(slack({ url: receiver.webhook }))
      const evil = '<!channel> & <https://evil.example|click>``` '.repeat(400)
      const { failed } = alertEvent().payload as { failed: object }
      const title = evil.slice(0, 200)
      const event = alertEvent({
        title,
        summary: evil,
        failed: { ...failed, source: evil, lastError: evil } as never,
      })
      await sink.write([event], never())
      expect(receiver.messages).toHaveLength(1)
      expect(JSON.stringify(receiver.messages)).not.toMatch(/<!channel>|<https:\/\/evil/)
    })
  })

  it('B1, E2: a pause that Slack asks for is kept; a webhook that is gone is not tried again', async () => {
    await withReceiver(slackReceiver(), async (receiver, open) => {
      const sink = open(slack({ url: receiver.webhook }))
      receiver.misbehaveNext({ status: 429, headers: { 'retry-after': '30' }, body: 'rate_limited' })
      const limited = classify(await failureOf(sink.write([make.event()], never())))
      expect(limited).toMatchObject({ retryable: true, retryAfterMs: 30_000 })
      receiver.misbehaveNext({ status: 404, body: `no_service ${SECRET}` })
      const gone = await failureOf(sink.write([make.event()], never()))
      expect(classify(gone)).toMatchObject({ retryable: false })
      expect(gone.message).toContain('no_service ***')
      expect(JSON.stringify([limited, gone, gone.message, gone.stack])).not.toContain(SECRET)
    })
  })

  it('F7: an invalid address is refused without being shown', () => {
    expect(() => slack({ url: `hooks.slack.com/services/${SECRET}` })).toThrow('a value that is not shown')
  })
})
