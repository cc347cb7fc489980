import type { PgQueryable } from 'lazaret/postgres'

/** What is used of the client that Prisma hands to an interactive transaction. */
interface PrismaTransaction {
  $executeRawUnsafe(statement: string, ...values: unknown[]): PromiseLike<number>
}

/**
 * Prisma: `prisma.$transaction(tx => outbox.enqueue(onPrisma(tx), event))`.
 *
 * Neither `enqueue` nor the ledger's `record` reads rows, and Prisma cannot read all that a statement may answer with: so it
 * is only asked how many there were.
 */
export function onPrisma(tx: PrismaTransaction): PgQueryable {
  return {
    async query(text, values = []) {
      return { rows: [], rowCount: await tx.$executeRawUnsafe(text, ...values) }
    },
  }
}
