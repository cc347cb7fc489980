import { appendFileSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { LazaretEvent } from '../../../src/core/event/event.ts'
import { writeLine } from '../../support/write-line.ts'
import { Effects } from '../campaign/effects.ts'
import { Publisher } from '../campaign/publisher.ts'
import { CLIENTS } from './clients.ts'
import { ACCEPTED, type BrokerName, EVENTS, PER_BATCH } from './plan.ts'

// The producer of a campaign, in a process on a host of its own. It writes down each event that publishing resolved for.
const [name = '', url = '', folder = '', pauseMs = '0'] = process.argv.slice(2)
/** Of what was handled: the backlog of a long fault. */
const MOST_AHEAD = 500

const events: readonly LazaretEvent[] = JSON.parse(readFileSync(join(folder, EVENTS), 'utf8'))
const effects = new Effects(join(folder, 'effects.db'))
const publisher = new Publisher(CLIENTS[name as BrokerName](url).broker, {
  perBatch: PER_BATCH,
  mostAhead: MOST_AHEAD,
  pauseMs: Number(pauseMs),
  onAccepted: accepted =>
    appendFileSync(join(folder, ACCEPTED), accepted.map(({ id }) => `${id}\n`).join('')),
  onRejected: () => writeLine('again'),
})
writeLine('started')
await publisher.publish(events, () => effects.count)
writeLine('published')
await publisher.close()
effects.close()
process.exit()
