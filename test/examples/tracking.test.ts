import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { ROOT } from '../support/source.ts'

const SHOWN: Readonly<Record<string, readonly string[]>> = {
  jobs: ['bullmq', 'pg-boss', 'graphile-worker', 'tracking-job', 'express', 'fastify', 'hono'],
  'durable-tracking': ['events', 'shutdown'],
  logging: ['logger', 'logger-here'],
}

it.each(Object.entries(SHOWN))(
  'E8: the guide %s shows its examples as they are checked',
  (guide, examples) => {
    const page = readFileSync(join(ROOT, `docs/guides/${guide}.md`), 'utf8')
    for (const name of examples)
      expect(page).toContain(readFileSync(join(ROOT, `examples/tracking/${name}.ts`), 'utf8').trim())
  },
)
