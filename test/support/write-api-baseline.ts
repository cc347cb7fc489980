// `npm run api`: writes the public surface down, so that a change of it is seen and meant.
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { publicApi } from './api.ts'
import { ROOT } from './source.ts'

mkdirSync(join(ROOT, 'api'), { recursive: true })
for (const [name, text] of publicApi()) writeFileSync(join(ROOT, 'api', name), text)
