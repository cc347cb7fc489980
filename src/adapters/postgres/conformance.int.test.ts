import { findPostgres } from '../../../test/services/postgres.ts'
import { postgresConforms } from '../../../test/support/postgres-conformance.ts'

await postgresConforms(await findPostgres())
