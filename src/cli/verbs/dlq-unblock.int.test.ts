import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { cliWorld } from '../../../test/support/cli.ts'
import { withTempFolder } from '../../../test/support/folder.ts'
import { kafkaWorld } from '../../../test/support/kafka-world.ts'
import { PermanentError } from '../../core/failure/signals.ts'
import { systemClock } from '../../ports/clock.ts'
import { createConsumer } from '../../runtime/consumer/consumer.ts'
import { uniqueName } from '../../testing/conformance/harness.ts'

const { found, why, timing, make, open, brokers } = await kafkaWorld()

describe.runIf(found)(`a key that a letter in another store blocks${why}`, () => {
  for (const [verb, by] of [
    ['discard', 'id'],
    ['unblock', 'id'],
    ['discard', 'filter'],
  ] as const)
    it(`B9: dlq ${verb} by ${by} lets the later events of its key go on`, async () => {
      await withTempFolder(async cwd => {
        const { store, lazaretWith, audited } = cliWorld(cwd)
        await writeFile(join(cwd, 'lazaret.yaml'), `brokers: { kafka: { url: 'kafka://${brokers}' } }`)
        const channel = uniqueName('keys')
        const handled: string[] = []
        const consumer = createConsumer({
          broker: open(),
          channel,
          name: 'bill',
          ordering: 'by-key',
          deadLetters: store.deadLetters,
          leaveOpen: true,
          handle: async ({ id, type }) => {
            if (type === 'bad') throw new PermanentError('It cannot be booked.')
            handled.push(id)
          },
        })
        onTestFinished(() => consumer.close())
        await consumer.start()
        const later = make.event({ channel, key: 'a' })
        await open().publish([make.event({ channel, key: 'a', type: 'bad' }), later])
        const letters = async () => (await store.deadLetters.list({ channel })).letters
        await timing.eventually(async () => (await letters()).length === 1, 'the letter')
        const [letter] = await letters()
        const which = by === 'id' ? [letter!.id] : ['--channel', channel, '--yes']
        // Filters select letters that have failed by now, and the consumer has the time of the machine.
        const io = { env: { LAZARET_STORE: 'memory:' }, clock: systemClock }
        const ran = await lazaretWith(io, 'dlq', verb, ...which)
        expect(ran).toMatchObject({
          code: 0,
          err: '',
          out: expect.stringContaining(by === 'id' ? letter!.id : '1'),
        })
        await timing.eventually(() => handled.length > 0, 'the later event')
        expect(handled).toEqual([later.id])
        const unblocked = (await audited()).filter(([action]) => action.startsWith('letter.unblock'))
        expect(unblocked).toEqual([['letter.unblock', letter!.id, 'ann']])
      })
    })
})
