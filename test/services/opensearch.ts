import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { type Missing, missing } from './debian.ts'
import { CACHES, makeOnce } from './make-once.ts'
import { classPathOf, copyDependencies, findMaven } from './maven.ts'
import { OpenSearchNode } from './opensearch-node.ts'

const run = promisify(execFile)
const FILES = join(import.meta.dirname, 'opensearch')
const POM = join(FILES, 'pom.xml')
const MAIN = join(FILES, 'TestNode.java')
const SERVER_JAR = /\/opensearch-(\d[\d.]*)\.jar/
const COMPILE_MS = 300_000

export type OpenSearch =
  | { readonly found: true; readonly version: string; start(): Promise<OpenSearchNode> }
  | Missing

/**
 * OpenSearch for tests: its libraries come from Maven Central, and a small class starts a node of them. Without it the
 * tests that need it are skipped with the reason, except in CI, where that is a failure.
 */
export async function findOpenSearch(): Promise<OpenSearch> {
  const hash = createHash('sha256')
  for (const file of [POM, MAIN]) hash.update(await readFile(file))
  const folder = join(CACHES, `opensearch-${hash.digest('hex').slice(0, 12)}`)
  if (!existsSync(folder)) {
    const maven = await findMaven()
    if (!maven.found) return maven
    try {
      await makeOnce(folder, install)
    } catch (error) {
      return missing('OpenSearch', `Maven could not bring it: ${error}`)
    }
  }
  const classPath = `${folder}:${await classPathOf(folder)}`
  const version = SERVER_JAR.exec(classPath)![1]!
  return { found: true, version, start: () => OpenSearchNode.open(classPath) }
}

async function install(folder: string): Promise<void> {
  await copyDependencies(POM, folder)
  await run('javac', ['-cp', await classPathOf(folder), '-d', folder, MAIN], { timeout: COMPILE_MS })
}
