// A process that writes dead letters into a folder until it is killed, and says what was acknowledged.
import { fileDeadLetters } from '../../src/adapters/file/index.ts'
import { beginFaults } from '../services/fiu.ts'
import { print, writeLetters } from './write-letters.ts'

const [dir = '', count = 'Infinity'] = process.argv.slice(2)
const IN_FLIGHT = 8
/** Small, so that every run comes past the end of files, rewrites and indexes too. */
const ROTATE_BYTES = 40_000

const store = fileDeadLetters({ dir, rotateBytes: ROTATE_BYTES })
await beginFaults()
await writeLetters(store, Number(count), IN_FLIGHT)
await store.close().catch(() => {})
print('closed')
