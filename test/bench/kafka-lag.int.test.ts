import { expect, it } from 'vitest'
import { run } from '../../bench/kafka-lag.ts'
import { findKafka } from '../services/kafka.ts'

const kafka = await findKafka()
const isOwn = kafka.found && kafka.isPrivate

// The figures depend on the machine. This proves that each one is measured, so that `npm run bench kafka-lag` works.
it.runIf(isOwn)(
  '"killed and restarted at 1 M messages of lag starts in < 5 s with flat memory" is measured',
  async () => {
    const { rows, bars } = await run(20_000)
    expect(rows).toHaveLength(5)
    expect(rows.filter(({ median }) => !(median > 0))).toEqual([])
    expect(bars.map(bar => 'atMost' in bar && bar.atMost)).toEqual([5_000, 50])
  },
)
