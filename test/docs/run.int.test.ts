import { describe, expect, it } from 'vitest'
import { findPostgres, type PostgresService } from '../services/postgres.ts'
import { findRabbitmq } from '../services/rabbitmq.ts'
import { findRedis } from '../services/redis.ts'
import { TestDatabase } from '../support/postgres.ts'
import { programsMarked, runProgram } from './run-program.ts'

interface Service {
  readonly url: string
  close(): Promise<void>
}

/** A database of its own, because the example migrates it and creates a table. */
async function startDatabase(starting: Promise<PostgresService>): Promise<Service> {
  const server = await starting
  const database = await TestDatabase.empty(server)
  return {
    url: database.url,
    async close() {
      await database.close()
      await server.close()
    },
  }
}

const postgres = await findPostgres()
const SERVERS = [
  { server: 'redis', variable: 'REDIS_URL', found: await findRedis() },
  { server: 'rabbitmq', variable: 'AMQP_URL', found: await findRabbitmq() },
  {
    server: 'postgres',
    variable: 'DATABASE_URL',
    found: postgres.found ? { ...postgres, start: () => startDatabase(postgres.start()) } : postgres,
  },
] as const

describe.each(SERVERS)('"a complete example that runs in CI", on $server', ({ server, variable, found }) => {
  const programs = programsMarked(`run on ${server}`)

  it('there is one', () => {
    expect(programs).not.toEqual([])
  })

  it.runIf(found.found).each(programs)(
    `$page, line $line${found.found ? '' : ` (skipped: ${found.why})`}`,
    async ({ text }) => {
      if (!found.found) return
      const service: Service = await found.start()
      try {
        const ended = await runProgram(text, { [variable]: service.url })
        expect(ended.stderr).toBe('')
      } finally {
        await service.close()
      }
    },
    120_000,
  )
})
