import { expect, it } from 'vitest'
import type { Subscription } from '../../ports/broker.ts'
import { Recorder } from '../../testing/recorder.ts'
import type { ConsumerPolicy } from './consumer-options.ts'
import { Pauses } from './pauses.ts'

it('B6: the last observation has the current state, also when resuming causes another pause', () => {
  const { observer, all } = new Recorder()
  const pauses = new Pauses({ channel: 'orders', name: 'bill', observer } as ConsumerPolicy)
  pauses.attach({
    pause: () => {},
    resume: () => pauses.add('breaker'),
  } as Partial<Subscription> as Subscription)
  pauses.add('breaker')
  pauses.remove('breaker')
  expect(pauses.reasons).toEqual(['breaker'])
  expect(all.map(({ what }) => what)).toEqual(['consumerPaused', 'consumerResumed', 'consumerPaused'])
})
