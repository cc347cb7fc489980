import { expect, it } from 'vitest'
import type { Observer } from '../ports/observer.ts'
import { Recorder } from '../testing/recorder.ts'
import { combineObservers } from './observe.ts'

it('E20: several observers are told in the order given, one that throws keeps nothing from the others', () => {
  const told: string[] = []
  class Counting implements Observer {
    readonly #by = 'class'
    breakerRejected(): void {
      told.push(this.#by)
    }
  }
  const combined = combineObservers(
    {
      breakerRejected() {
        told.push('first')
        throw new Error('the first one is broken')
      },
    },
    new Counting(),
    { rateLimited: () => told.push('limited') },
  )
  combined.breakerRejected?.({ name: 'pay' })
  expect(told).toEqual(['first', 'class'])
})

it('E20: what none of them watches is not watched, so nothing is built for nobody', () => {
  const combined = combineObservers({ gaveUp() {} }, {})
  expect(Object.keys(combined)).toEqual(['gaveUp'])
})

it('E20: one that answers to every name, as a proxy does, is told of everything', () => {
  const recorder = new Recorder()
  const combined = combineObservers(recorder.observer, { gaveUp() {} })
  combined.replayItemEnded?.({ channel: 'orders', letterId: 'l1', replayId: 'r1', status: 'recovered' })
  combined.breakerRejected?.({ name: 'pay' })
  expect(recorder.all.map(({ what }) => what)).toEqual(['replayItemEnded', 'breakerRejected'])
})
