import { describe, expect, it } from 'vitest'
import { PEOPLE, secretOf, serverWorld } from '../../test/support/server-world.ts'
import { createMasks } from '../core/dead-letter/masks.ts'

describe('the masks of a server', () => {
  it('P2, F8: everybody sees which apply, the built-in ones and your own', async () => {
    const masks = createMasks({ names: ['tax_id'], patterns: [/KD-\d+/], personalData: false })
    const { ask } = serverWorld({ masks, tokens: PEOPLE })
    const { body } = await ask('/api/v1/masks', { token: secretOf('vic') })
    expect(body).toMatchObject({
      known: true,
      secrets: { active: true, names: expect.arrayContaining(['*password', '*token', '*card_number']) },
      personalData: { active: false, names: expect.arrayContaining(['*first_name', '*phone', '*street']) },
      own: { active: true, names: ['tax_id'], texts: ['/KD-\\d+/'] },
    })
  })

  it('P2: personal data is masked by default, in the payload and in texts about it', async () => {
    const { ask, bury, make } = serverWorld()
    const payload = { customer: { name: 'Ann Smith', phone: '030 123' }, shipTo: { street: 'Main Street 1' } }
    const error = new Error('no courier for Ann Smith in Main Street 1, call +49 30 1234567')
    const [letter] = await bury(make.letter({ error, event: make.event({ payload }) }))
    const { body, text } = await ask(`/api/v1/dead-letters/${letter!.id}`)
    expect(body.event.payload).toEqual({ customer: { name: '***', phone: '***' }, shipTo: { street: '***' } })
    expect(text).not.toMatch(/Ann|Main Street|030 123|1234567/)
    expect((await ask('/api/v1/masks')).body.personalData.active).toBe(true)
  })

  it('P2: masks of another origin are said to be unknown', async () => {
    const { rules: _, ...masks } = createMasks()
    const { ask } = serverWorld({ masks })
    const { body } = await ask('/api/v1/masks')
    expect(body).toMatchObject({ known: false, secrets: { active: false, names: [] } })
  })
})
