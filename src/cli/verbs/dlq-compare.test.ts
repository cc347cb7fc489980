import { describe, expect, it } from 'vitest'
import { cliWorld } from '../../../test/support/cli.ts'

async function twoLetters() {
  const world = cliWorld()
  const { factory } = world
  const letterOf = (country: string, release: string) => {
    const letter = factory.letter({
      release,
      error: new TypeError('no total'),
      event: factory.event({
        payload: { country, password: `secret-of-${country}`, items: [{ sku: 'a-1' }] },
        headers: { tenant: 'acme' },
      }),
    })
    // As the option `keepStack` keeps it.
    const failure = {
      ...letter.cycle.failure!,
      stack: `TypeError: no total\n    at tax${country} (tax.ts:1:1)`,
    }
    return { ...letter, cycle: { ...letter.cycle, failure } }
  }
  const [first, second] = await world.bury(letterOf('DE', '2.3.0'), letterOf('FR', '2.4.0'))
  return { ...world, first: first!.id, second: second!.id }
}

describe('dlq compare', () => {
  it('F8: shows the fields that differ, by the paths of conditions, and counts the others', async () => {
    const { lazaret, first, second } = await twoLetters()
    const { code, out, err } = await lazaret('dlq', 'compare', first, second)
    expect({ code, err }).toEqual({ code: 0, err: '' })
    const lines = out.split('\n').map(line => line.trim().replaceAll(/ {2,}/g, '  '))
    expect(lines).toContain(`first  ${first}  dead`)
    expect(lines).toContain('release  2.3.0  2.4.0')
    expect(lines).toContain('payload.country  "DE"  "FR"')
    expect(out).toContain('\nStack\n-     at taxDE (tax.ts:1:1)\n+     at taxFR (tax.ts:1:1)\n')
    expect(out).not.toContain('payload.items.0.sku')
    expect(out).toMatch(/\d+ fields are equal\./)
  })

  it('F8: masked values stay masked, and whether they are equal is not said', async () => {
    const { lazaret, first, second } = await twoLetters()
    const { out } = await lazaret('dlq', 'compare', first, second)
    expect(out).not.toContain('secret-of')
    expect(out).toContain('Masked, so not compared: payload.password')
    const { json } = await lazaret('dlq', 'compare', first, second, '--json')
    expect(json[0]).toMatchObject({ first, second, isSameGroup: true, masked: ['payload.password'] })
    expect(JSON.stringify(json)).not.toContain('secret-of')
  })

  it('F8: --reveal compares them and is audited for both letters', async () => {
    const { lazaret, first, second, audited } = await twoLetters()
    const { out } = await lazaret('dlq', 'compare', first, second, '--reveal')
    expect(out).toContain('"secret-of-DE"')
    expect(await audited()).toEqual([
      ['payload.reveal', second, 'ann'],
      ['payload.reveal', first, 'ann'],
    ])
  })

  it('F8: one letter twice is wrong usage', async () => {
    const { lazaret, first } = await twoLetters()
    const { code, err } = await lazaret('dlq', 'compare', first, first)
    expect(code).toBe(2)
    expect(err).toContain('are the same letter; give the IDs of two letters')
  })
})
