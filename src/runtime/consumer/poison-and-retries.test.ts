import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { refused, consumerWorld as world } from '../../../test/support/consumer-world.ts'
import { PermanentError, TransientError } from '../../core/failure/signals.ts'
import { fixed } from '../../core/retry/fixed.ts'
import type { ConsumerOptions } from './consumer-options.ts'

const page = readFileSync(new URL('../../../docs/policies/poison.md', import.meta.url), 'utf8')

interface Row {
  readonly throws: (attempt: number) => Error
  readonly retry?: ConsumerOptions['retry']
}

const business = () => new TransientError('not paid yet', { category: 'business' })
const own = () => new TypeError('cannot read properties of undefined')
/** No message of an error is masked down to another of these. */
const NAMES = ['amber', 'birch', 'cedar', 'dune', 'ember', 'fjord']

/** What the handler throws, for each row of the worked table in the order of the page. */
const ROWS: readonly Row[] = [
  { throws: () => new PermanentError('no such tariff') },
  { throws: business },
  { throws: own },
  { throws: own, retry: { backoff: fixed({ delayMs: 60_000, jitter: 'none' }) } },
  { throws: attempt => Object.assign(new Error('?'), { name: NAMES[attempt - 1]! }) },
  { throws: refused },
  { throws: () => Object.assign(new Error('HTTP 500'), { status: 500 }) },
  { throws: attempt => (attempt <= 2 ? business() : refused()) },
]

const table = page
  .split('\n')
  .filter(line => / \| (dead|quarantined) \|$/.test(line))
  .map(line => line.split(' | ').map(cell => cell.replace(/^\| | \|$/g, '')))

describe('F1, K5, R7: the worked table of poison and retries', () => {
  it('has a row for each case', () => expect(table).toHaveLength(ROWS.length))

  it.each(table.map((cells, index) => ({ cells, row: ROWS[index]!, says: cells[0]! })))(
    '$says',
    async ({ cells: [, attempts, after, reason, state], row }) => {
      const { consumer, publish, clock, letters } = world({
        retry: row.retry,
        breaker: 'off',
        // The middle of the jitter.
        random: () => 0.5,
        handle: async (_, { attempt }) => {
          throw row.throws(attempt)
        },
      })
      await consumer.start()
      const startedAt = clock.now()
      await publish('x')
      await clock.advance(600_000)
      const [letter] = await letters()
      expect(letter).toMatchObject({
        state,
        cycle: { reason: /`(\w+)`/.exec(reason!)?.[1], attemptCount: Number(attempts) },
      })
      const [number, unit] = after!.split(' ')
      expect(letter!.cycle.lastFailedAt - startedAt).toBe(Number(number) * (unit === 'min' ? 60_000 : 1_000))
      await consumer.close()
    },
  )
})
