// Writes a million letters into a database, with a fixed interval between their times.
import { openSqlite } from '../src/adapters/sqlite/index.ts'
import { COUNT, manyLetters, sendEach } from './harness/million.ts'

const IN_FLIGHT = 1_000

const [path = '', everyMs = '1'] = process.argv.slice(2)
const store = openSqlite({ path })
await sendEach(manyLetters(COUNT, Number(everyMs)), IN_FLIGHT, letter => store.deadLetters.send(letter))
await store.close()
