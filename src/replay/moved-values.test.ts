import { describe, expect, it } from 'vitest'
import { maskLetter } from '../core/dead-letter/mask-letter.ts'
import { createMasks } from '../core/dead-letter/masks.ts'
import type { LazaretEvent } from '../core/event/event.ts'
import type { PatchOperation } from '../ports/replays.ts'
import { replayEvent } from '../runtime/replay-event.ts'
import { createFactory } from '../testing/factories.ts'

const make = createFactory()
const SECRET = 'hunter2-and-more'

/** The event of a letter with this payload, sent to another channel with a patch. */
function redirected(from: LazaretEvent, patch?: readonly PatchOperation[], to = 'other'): LazaretEvent {
  const letter = make.letter({ event: from })
  return replayEvent(letter, { id: 'r', to, patch } as never, 1)
}

/** What a viewer sees of the letter of that event. Its error quotes the whole payload. */
function shown(event: LazaretEvent, masks = createMasks()): string {
  const letter = make.letter({ event })
  const message = `refused ${JSON.stringify(event.payload)}`
  const { cycle } = letter
  const failure = { ...cycle.failure!, message }
  return JSON.stringify(maskLetter({ ...letter, cycle: { ...cycle, failure } }, masks))
}

const event = make.event({
  payload: { password: SECRET, note: 'plain', list: ['a'], user: { name: SECRET }, wrap: {} },
})
const removal: PatchOperation = { op: 'remove', path: '/password' }
const noUser: PatchOperation = { op: 'remove', path: '/user' }

describe('a masked value that a patch moves to another place', () => {
  const patches: Record<string, readonly PatchOperation[]> = {
    move: [{ op: 'move', from: '/password', path: '/note' }, noUser],
    copy: [{ op: 'copy', from: '/password', path: '/note' }, removal, noUser],
    'into an array': [{ op: 'move', from: '/password', path: '/list/-' }, noUser],
    'as the whole payload': [{ op: 'move', from: '/password', path: '' }],
    'in two steps': [
      { op: 'move', from: '/password', path: '/a' },
      { op: 'move', from: '/a', path: '/b' },
      noUser,
    ],
    'inside an object': [
      { op: 'move', from: '/password', path: '/wrap/a' },
      { op: 'move', from: '/wrap', path: '/box' },
      noUser,
    ],
    'by the name of its parent': [{ op: 'move', from: '/user', path: '/thing' }, removal],
    'by the name of its parent, into an array': [{ op: 'move', from: '/user', path: '/list/0' }, removal],
    'too often to be noted': [
      ...Array.from({ length: 90 }, (_, at): PatchOperation => {
        return { op: 'copy', from: '/password', path: `/${'long'.repeat(20)}${at}` }
      }),
      removal,
      noUser,
    ],
  }
  it.each(Object.keys(patches))('B13: stays masked in the letter of another channel: %s', name => {
    const sent = redirected(event, patches[name])
    expect(JSON.stringify(sent.payload)).toContain(SECRET)
    expect(shown(sent)).not.toContain('hunter2')
  })

  it('B13: stays masked when the letter of the other channel is sent on, with and without a patch', () => {
    const once = redirected(event, patches['move'])
    expect(shown(redirected(once, undefined, 'third'))).not.toContain('hunter2')
    const twice = redirected(once, [{ op: 'move', from: '/note', path: '/text' }], 'third')
    expect(JSON.stringify(twice.payload)).toContain(SECRET)
    expect(shown(twice)).not.toContain('hunter2')
  })

  it('B13: other values are shown where the patch has put them', () => {
    const sent = redirected(event, [{ op: 'copy', from: '/note', path: '/text' }])
    expect(shown(sent)).toContain('"text":"plain"')
    const masks = createMasks({ defaults: false })
    expect(shown(redirected(event, patches['move']), masks)).toContain(SECRET)
  })

  it('B13: a header of another program that cannot be read hides the payload', () => {
    const forged = { ...event, headers: { 'x-replay-moved': '{' }, payload: { note: SECRET } }
    expect(shown(forged)).not.toContain('hunter2')
  })
})
