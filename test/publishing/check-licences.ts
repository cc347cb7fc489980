// `npm run licences`: names every dependency whose licence nobody has allowed.
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { ROOT } from '../support/source.ts'
import { writeLine } from '../support/write-line.ts'
import { bundledPackages, NOTICES } from './bundled.ts'
import { licenceFaults } from './licences.ts'

const { packages } = JSON.parse(readFileSync(join(ROOT, 'package-lock.json'), 'utf8'))
const bundled = NOTICES.every(path => existsSync(join(ROOT, path)))
  ? bundledPackages().map(({ name }) => name)
  : []
const faults = licenceFaults(packages, bundled)
for (const fault of faults) writeLine(`${fault} is not allowed; see test/publishing/licences.ts`)
process.exitCode = faults.length > 0 ? 1 : 0
