import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { publicApi } from './support/api.ts'
import { ROOT } from './support/source.ts'

it('the public surface is the committed one; if the change is meant, run `npm run api` and review the diff', () => {
  const actual = publicApi()
  const committed = new Map(
    readdirSync(join(ROOT, 'api')).map(
      name => [name, readFileSync(join(ROOT, 'api', name), 'utf8')] as const,
    ),
  )
  expect([...actual.keys()].sort()).toEqual([...committed.keys()].sort())
  for (const [name, text] of actual) expect(text, `api/${name}`).toBe(committed.get(name))
})
