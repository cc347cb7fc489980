import type { PgQueryable } from 'lazaret/postgres'

/** The part of Prisma's interactive transaction client that `onPrisma` uses. */
interface PrismaTransaction {
  $executeRawUnsafe(statement: string, ...values: unknown[]): PromiseLike<number>
}

/**
 * Prisma: `prisma.$transaction(tx => outbox.enqueue(onPrisma(tx), event))`.
 *
 * Prisma cannot read every type of column. `enqueue` and the ledger's `record` need only the number of rows, so this function
 * returns no rows.
 */
export function onPrisma(tx: PrismaTransaction): PgQueryable {
  return {
    async query(text, values = []) {
      return { rows: [], rowCount: await tx.$executeRawUnsafe(text, ...values) }
    },
  }
}
