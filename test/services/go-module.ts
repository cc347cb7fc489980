import { createHash } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type FoundProgram, findGoProgram } from './go-program.ts'

/** A program of this repository: Go builds it once for each content of its folder. */
export async function findGoModule(name: string, folder: string): Promise<FoundProgram> {
  const hash = createHash('sha256')
  const files = (await readdir(folder)).filter(file => file === 'go.mod' || file.endsWith('.go'))
  for (const file of files.sort()) hash.update(await readFile(join(folder, file)))
  const version = hash.digest('hex').slice(0, 12)
  return findGoProgram({ name, version, source: '.', module: folder })
}
