import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { formatLetter } from '../src/cli/print/format-letter.ts'
import { failedEvent } from '../src/core/dead-letter/failed-event.ts'
import type { DeadLetter } from '../src/core/dead-letter/letter.ts'
import { maskLetter } from '../src/core/dead-letter/mask-letter.ts'
import { createMasks } from '../src/core/dead-letter/masks.ts'
import type { EventInput, JsonValue } from '../src/core/event/event.ts'
import { Occurrences } from '../src/integrations/notify/occurrences.ts'
import { compareTwoLetters } from '../src/operations/compare-letters.ts'
import { letterCsv } from '../src/operations/letter-csv.ts'
import type { Factory } from '../src/testing/factories.ts'
import { PEOPLE, type ServerWorld, secretOf, serverWorld } from './support/server-world.ts'

const masks = createMasks({ paths: ['payload.deep.*.code', 'payload.list[*]', 'key'] })
const VIEWER = { token: secretOf('vic') }
/** So much of a value that nothing else begins with it. */
const TELLING = 6

const word = fc.stringMatching(/^[a-zA-Z0-9]{3,12}$/)
const text = fc.string({ unit: 'grapheme', maxLength: 12 })
const printable = fc.stringMatching(/^[ -~]{0,12}$/)
/** A value that no other part of an answer contains by chance. Headers and keys have printable characters only. */
const secretWith = (middle: fc.Arbitrary<string>) =>
  fc.tuple(word, middle, word).map(parts => `Zq7${parts.join('')}`)

interface Placed {
  readonly event: Partial<EventInput>
  readonly metadata?: Readonly<Record<string, JsonValue>>
}

/** A place in a letter that the masks hide. */
const place = fc.constantFrom<(value: string) => Placed>(
  value => ({ event: { payload: { deep: { x: { code: value } } } } }),
  value => ({ event: { payload: { list: ['a', value] } } }),
  value => ({ event: { payload: { orders: [{ password: value }] } } }),
  value => ({ event: { payload: { Customers: [{ Name: value }] } } }),
  value => ({ event: { payload: { names: [value] } } }),
  value => ({ event: {}, metadata: { desk: { Customer: { name: value } } } }),
  value => ({ event: {}, metadata: { token: value } }),
)

const envelopePlace = fc.constantFrom<(value: string) => Placed>(
  value => ({ event: { headers: { 'X-Customer-Name': value } } }),
  value => ({ event: { key: value } }),
)
/** A letter with a masked value. */
const placed = fc.oneof(
  { weight: 4, arbitrary: fc.tuple(secretWith(text), place) },
  { weight: 1, arbitrary: fc.tuple(secretWith(printable), envelopePlace) },
)

/** A text that quotes the value in one of many ways, and that may be cut inside it. */
const quoting = fc.constantFrom<(value: string) => string>(
  value => value,
  value => `"${value}"`,
  value => JSON.stringify({ found: value }),
  value => JSON.stringify(JSON.stringify({ found: value })),
  value => `GET /find?q=${encodeURIComponent(value)}`,
  value => `${'x '.repeat(94)}${value} is unknown`,
  value => `${'x '.repeat(994)}${value} is unknown`,
  value => `..."${value.slice(0, -2)}"... is not valid JSON`,
  value => `first line\n${value}\nlast line`,
)

function letterOf(make: Factory, { event, metadata }: Placed, error: Error): DeadLetter {
  return make.letter({ event: make.event(event), metadata, error })
}

/** What people and programs without the right to reveal get of a letter, apart from the server. */
function ownOutputs(letter: DeadLetter, other: DeadLetter): readonly unknown[] {
  const paint = (_: unknown, shown: string) => shown
  const notice = { kind: 'dead_letter', at: 1, failed: failedEvent(letter, masks), letter } as const
  return [
    maskLetter(letter, masks),
    failedEvent(letter, masks),
    letterCsv(letter, masks),
    compareTwoLetters(letter, other, masks),
    formatLetter(letter, { masks, isRevealed: false, now: 1, paint }),
    new Occurrences(masks, undefined).of(notice),
  ]
}

/** The answers of the server to a viewer. */
async function answers({ ask, tell }: ServerWorld, { id, cycle }: DeadLetter): Promise<readonly string[]> {
  const group = `/api/v1/groups/${cycle.failure!.fingerprint.id}`
  const paths = [
    ...['/api/v1/dead-letters', `/api/v1/dead-letters/${id}`, '/api/v1/groups', group],
    ...[`${group}/differences`, `${group}/timeline`, '/api/v1/overview', '/metrics'],
  ]
  const all = await Promise.all(paths.map(path => ask(path, VIEWER)))
  const previewed = await tell('/api/v1/dead-letters/export/preview', { filter: {} }, OPERATOR)
  const { count, until, digest } = previewed.body
  const exported = ['csv', 'jsonl'].map(format =>
    tell(
      '/api/v1/dead-letters/export',
      { filter: {}, expectedCount: count, until, digest, format, reason: 'x' },
      OPERATOR,
    ),
  )
  return [...all, ...(await Promise.all(exported))].map(answer => answer.text)
}

const OPERATOR = { token: secretOf('ola') }

describe('what is shown to somebody who may not reveal payloads', () => {
  it('P2: has no masked value, wherever the letter has it and however an error quotes it', async () => {
    await fc.assert(
      fc.asyncProperty(placed, quoting, text, async ([value, placeOf], quoteIn, before) => {
        const world = serverWorld({ tokens: PEOPLE, masks })
        const error = new Error(`${before} ${quoteIn(value)}`)
        error.stack = `Error: ${error.message}\n    at charge (/app/charge.ts:1:2)`
        const [letter] = await world.bury(letterOf(world.make, placeOf(value), error))
        const shown = [...ownOutputs(letter!, world.make.letter()), ...(await answers(world, letter!))]
        for (const output of shown) expect(JSON.stringify(output)).not.toContain(value.slice(0, TELLING))
        const found = await world.ask(
          `/api/v1/dead-letters?search=${encodeURIComponent(value.slice(0, TELLING))}`,
          VIEWER,
        )
        expect(found.body.letters).toEqual([])
      }),
      { numRuns: 150 },
    )
  })
})
