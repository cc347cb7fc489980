import { findNewestPostgres } from '../../../test/services/postgres.ts'
import { DELIVERED, postgresConforms } from '../../../test/support/postgres-conformance.ts'

/**
 * All three outboxes share their statements, and only the one with partitions has some that a new server may treat in another
 * way. `npm run versions` runs the other two on this server too.
 */
const outboxes = process.env['LAZARET_TEST_ALL_VERSIONS'] === '1' ? DELIVERED : (['partition'] as const)

await postgresConforms(await findNewestPostgres(), outboxes)
