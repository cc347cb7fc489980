import { findNewestPostgres } from '../../../test/services/postgres.ts'
import { postgresConforms } from '../../../test/support/postgres-conformance.ts'

/**
 * All three outboxes share their statements, and only the one with partitions has some that a new server may treat in another
 * way. `npm run matrix` runs the other two on this server too.
 */
await postgresConforms(await findNewestPostgres(), ['partition'])
