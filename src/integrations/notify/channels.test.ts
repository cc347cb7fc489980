import { describe, expect, it } from 'vitest'
import { MINUTE, notifierWorld, told } from '../../../test/support/notifier-world.ts'
import type { ChannelNotice } from '../../ports/notifier.ts'

const notice = (more: Partial<ChannelNotice> = {}): ChannelNotice => ({
  kind: 'channel_alert',
  at: 0,
  channel: 'orders',
  rule: 'depth',
  firing: true,
  value: 150,
  limit: 100,
  ...more,
})

const dominant = (name: string, firing = true) =>
  notice({ rule: 'dominance', value: 0.6, limit: 0.5, firing, error: { fingerprint: name, name } })

describe('a channel over its limit', () => {
  it('K7: its end is told also by a notifier that does not know of its beginning, if others were told', async () => {
    const { notifier, alerts, clock } = notifierWorld()
    await notifier.notify(notice({ firing: false, value: 40 }))
    expect(alerts()).toEqual([])
    const toldSince = clock.now() - 40 * MINUTE
    await notifier.notify(notice({ firing: false, value: 40, toldSince }))
    await clock.advance(0)
    expect(alerts()).toMatchObject([
      {
        status: 'resolved',
        key: 'channel_alert/orders/depth',
        title: 'Channel orders: 40 dead letters waiting',
        resolvedBy: 'recovery',
        since: new Date(toldSince).toISOString(),
        newCount: 0,
      },
    ])
    expect(notifier.health().open).toEqual([])
    await notifier.close()
  })

  it('K7: that end is told once by who knows of its beginning, and to nobody while its error is muted', async () => {
    let state = 'muted'
    const { notifier, alerts, clock } = notifierWorld({
      groups: { get: async () => ({ state }) as never },
    })
    await notifier.notify({ ...dominant('refused', false), toldSince: 1 })
    await clock.advance(MINUTE)
    expect(alerts()).toEqual([])
    state = 'open'
    await notifier.notify(dominant('refused'))
    await notifier.notify({ ...dominant('refused', false), toldSince: 1 })
    await clock.advance(MINUTE)
    expect(told(alerts())).toEqual(['firing channel_alert 1', 'resolved channel_alert 0'])
    await notifier.close()
  })

  it('K7: each error that dominates, and each store, is an alert with an end of its own', async () => {
    const { notifier, alerts, clock } = notifierWorld()
    await notifier.notify(dominant('refused'))
    await notifier.notify(dominant('timeout'))
    await notifier.notify(dominant('refused', false))
    await notifier.notify(notice({ store: 'eu' }))
    await notifier.notify(notice({ store: 'us' }))
    await notifier.notify(notice({ store: 'eu', firing: false }))
    await clock.advance(0)
    expect(alerts().map(({ status, key }) => `${status} ${key}`)).toEqual([
      'firing channel_alert/orders/dominance/refused',
      'firing channel_alert/orders/dominance/timeout',
      'resolved channel_alert/orders/dominance/refused',
      'firing channel_alert/orders/depth/eu',
      'firing channel_alert/orders/depth/us',
      'resolved channel_alert/orders/depth/eu',
    ])
    expect(alerts()[3]?.title).toBe('Channel orders in eu: 150 dead letters waiting')
    await notifier.close()
  })
})

describe('a store that does not say what is muted', () => {
  it('S7: does not turn around what is told of others', async () => {
    const { notifier, alerts, clock } = notifierWorld({ groups: { get: () => new Promise<never>(() => {}) } })
    void notifier.notify(dominant('refused'))
    void notifier.notify(dominant('refused', false))
    for (const kind of ['breaker_opened', 'breaker_closed', 'breaker_opened'] as const)
      void notifier.notify({ kind, at: 0, name: 'payments' })
    await clock.advance(MINUTE)
    expect(notifier.health().open).toMatchObject([{ kind: 'breaker_opened' }])
    expect(told(alerts())).toEqual([
      'firing breaker_opened 1',
      'resolved breaker_opened 0',
      'firing breaker_opened 1',
      'firing channel_alert 1',
      'resolved channel_alert 0',
    ])
    await notifier.close()
  })
})
