// A process that writes dead letters into a database until it is killed, and says what was acknowledged.
import { openSqlite } from '../../src/adapters/sqlite/index.ts'
import { beginFaults } from '../services/fiu.ts'
import { print, writeLetters } from './write-letters.ts'

const [path = '', count = 'Infinity'] = process.argv.slice(2)
const IN_FLIGHT = 16

const store = openSqlite({ path })
await beginFaults()
await writeLetters(store.deadLetters, Number(count), IN_FLIGHT)
await store.close().catch(() => {})
print('closed')
