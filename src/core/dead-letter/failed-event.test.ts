import { expect, it } from 'vitest'
import { createFactory } from '../../testing/factories.ts'
import { failedEvent } from './failed-event.ts'
import { maskLetter } from './mask-letter.ts'
import { createMasks } from './masks.ts'

const make = createFactory()

it.each([
  ['https://bob:pw123@shop/x', undefined, 'https://***@shop/x'],
  ['/customers/Wagenknecht/orders', undefined, '/customers/***/orders'],
  ['/shop/checkout', undefined, '/shop/checkout'],
  ['/shop/checkout', createMasks({ paths: ['source'] }), '***'],
  ['/shop/checkout', createMasks({ names: ['source'] }), '***'],
  [undefined, createMasks({ names: ['source'] }), undefined],
] as const)('S7, E20: source %s is shown as the API shows it', (source, masks, shown) => {
  const letter = make.letter({ event: make.event({ source, payload: { surname: 'Wagenknecht' } }) })
  expect(failedEvent(letter, masks).source).toBe(shown)
  const { event } = maskLetter(letter, masks) as { event: { source: string | null } }
  expect(event.source ?? undefined).toBe(shown)
})

it('S7, E20: a mask that hides the whole event hides its source', () => {
  const letter = make.letter({ event: make.event({ source: '/shop/checkout' }) })
  expect(failedEvent(letter, createMasks({ paths: ['**'] })).source).toBe('***')
})
