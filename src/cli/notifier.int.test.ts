import { describe, expect, it } from 'vitest'
import { slackReceiver } from '../../test/receivers/slack.ts'
import { smtpReceiver } from '../../test/receivers/smtp.ts'
import { memoryStore } from '../adapters/memory/index.ts'
import { parseConfig } from '../config/config.ts'
import { createIdSource } from '../core/event/uuid.ts'
import { systemClock, systemRandom } from '../ports/clock.ts'
import { startReplay } from '../replay/control.ts'
import { planReplay } from '../replay/plan.ts'
import { routeReplays } from '../replay/routes.ts'
import { runReplay } from '../replay/runner.ts'
import { createFactory } from '../testing/factories.ts'
import { checkNotify } from './doctor/notify.ts'
import { alertCollector, openNotifier } from './notifier.ts'

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
      {
        main: store,
        away: { ...store, groups: { ...store.groups, get: () => Promise.reject(new Error()) } },
      },
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

  it('S7, F8: an alert that could not be delivered is a letter, and a replay of it delivers', async () => {
    const receiver = await slackReceiver()
    const store = memoryStore()
    const ops = `    ops: { type: slack, url: '${receiver.webhook}' }`
    const notifier = (await openNotifier(config(ops), { main: store }, io))!
    receiver.misbehave({ status: 404, body: 'no_service' })
    await notifier.notify({ kind: 'breaker_opened', at: 0, name: 'payments' })
    await notifier.flush()
    const environment = { clock: systemClock, newId: createIdSource(systemRandom) }
    const target = routeReplays([alertCollector(notifier, store.deadLetters)], undefined)!
    const replay = async () => {
      const { id } = await planReplay(store, { reason: 'mended', by: 'ann' }, environment)
      await startReplay(store, id, { by: 'ann', clock: systemClock })
      await runReplay(store, id, { target, environment, owner: 'test' })
      const [letter] = (await store.deadLetters.list()).letters
      return letter
    }
    expect(await replay()).toMatchObject({
      channel: 'lazaret.alerts',
      handler: 'ops',
      state: 'dead',
      cycle: { number: 1 },
    })
    receiver.misbehave(undefined)
    expect(await replay()).toMatchObject({ state: 'resolved' })
    expect(receiver.messages.map(({ text }) => text)).toEqual([
      expect.stringContaining('Firing: Breaker payments is open'),
    ])
    await notifier.close()
    await store.close()
    await receiver.close()
  })

  it('F8: the doctor says which targets cannot be told, and tells none', async () => {
    const server = await smtpReceiver()
    const wrong = server.url.replace(server.password, 'hunter3-hunter3')
    const checks = await checkNotify(
      config(
        "    ops: { type: slack, url: 'https://hooks.slack.com/services/x' }",
        "    hook: { type: webhook, url: 'https://hook.example', secret: 'whsec_short' }",
        `    post: { type: email, url: '${server.url}', from: a@shop.example, to: [ann@shop.example] }`,
        `    lost: { type: email, url: '${wrong}', from: a@shop.example, to: [ann@shop.example] }`,
      ),
      systemClock,
    )
    expect(checks).toMatchObject([
      { status: 'ok', found: 'ops (slack) is ready' },
      { status: 'fail', name: 'notify' },
      { status: 'ok', found: 'post (email) is ready' },
      { status: 'fail', remedy: 'check the user and password of the mail server' },
    ])
    expect(JSON.stringify(checks)).not.toContain('hunter')
    expect(server.mails).toEqual([])
    await server.close()
    expect(await openNotifier(parseConfig('', 'lazaret.yaml', {}), {}, io)).toBeUndefined()
  })
})
