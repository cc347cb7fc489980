import { describe, expect, it } from 'vitest'
import { slackReceiver } from '../../test/receivers/slack.ts'
import { memoryStore } from '../adapters/memory/index.ts'
import { parseConfig } from '../config/config.ts'
import { systemClock, systemRandom } from '../ports/system-clock.ts'
import { createFactory } from '../testing/factories.ts'
import { checkNotify } from './doctor/notify.ts'
import { openNotifier } from './notifier.ts'

const io = { clock: systemClock, random: systemRandom }
const config = (...lines: readonly string[]) =>
  parseConfig(['notify:', '  targets:', ...lines].join('\n'), 'lazaret.yaml', {})

describe('the notifier of a config file', () => {
  it('S7: tells its targets, minds what is muted, and leaves the stores open', async () => {
    const receiver = await slackReceiver()
    const store = memoryStore()
    const [muted, other] = [new Error('known'), new Error('new')].map(error =>
      createFactory().letter({ error }),
    )
    await store.deadLetters.send(muted!)
    const group = muted!.cycle.failure!.fingerprint.id
    const until = systemClock.now() + 60_000
    await store.groups.change(group, { state: 'muted', mutedUntil: until, at: systemClock.now(), by: 'ann' })
    const url = receiver.webhook
    const notifier = await openNotifier(
      config(`    ops: { type: slack, url: '${url}' }`),
      { main: store },
      io,
    )
    const dominance = {
      kind: 'channel_alert',
      at: 0,
      rule: 'dominance',
      firing: true,
      value: 0.7,
      limit: 0.5,
    } as const
    for (const letter of [muted!, other!]) {
      const fingerprint = letter.cycle.failure!.fingerprint.id
      const { message: name } = letter.cycle.failure!
      await notifier!.notify({ ...dominance, channel: name, error: { fingerprint, name } })
    }
    await notifier!.close()
    expect(receiver.messages.map(({ text }) => text)).toEqual([
      expect.stringContaining('Channel new: 70 % of its dead letters have one error, new'),
    ])
    expect((await store.deadLetters.list()).letters).toHaveLength(1)
    await store.close()
    await receiver.close()
  })

  it('F8: the doctor says which targets cannot be told, and tells none', async () => {
    const checks = await checkNotify(
      config(
        "    ops: { type: slack, url: 'https://hooks.slack.com/services/x' }",
        "    mail: { type: email, url: 'smtp://mail', from: 'no address', to: [ann@shop.example] }",
      ),
    )
    expect(checks).toMatchObject([
      { status: 'ok', found: 'ops (slack) can be told' },
      { status: 'fail', name: 'notify' },
    ])
    expect(await openNotifier(parseConfig('', 'lazaret.yaml', {}), {}, io)).toBeUndefined()
  })
})
