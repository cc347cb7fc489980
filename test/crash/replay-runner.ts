// A process that runs a replay until it has ended, and says what it then is. `aheadMs` sets its clock forward, so that
// it need not wait until the lease of a runner that was killed is over.
import { openSqlite } from '../../src/adapters/sqlite/index.ts'
import { createIdSource } from '../../src/core/event/uuid.ts'
import { type Clock, systemClock, systemRandom } from '../../src/ports/clock.ts'
import { runReplay } from '../../src/replay/runner.ts'
import { writeLine } from '../support/write-line.ts'

const [path = '', id = '', aheadMs = '0'] = process.argv.slice(2)
const clock: Clock = {
  now: () => systemClock.now() + Number(aheadMs),
  schedule: (delayMs, task) => systemClock.schedule(delayMs, task),
}
const store = openSqlite({ path, clock })
const replay = await runReplay(store, id, {
  target: { send: events => store.broker.publish(events) },
  environment: { clock, newId: createIdSource(systemRandom) },
  owner: `runner ${process.pid}`,
})
writeLine(`ended ${replay.state}`)
await store.close()
