import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { readFile, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { type Found, missing } from './debian.ts'
import { CACHES, makeOnce } from './make-once.ts'
import { classPathOf, copyDependencies, findMaven } from './maven.ts'

const run = promisify(execFile)

export const KAFKA_FILES = join(import.meta.dirname, 'kafka')
const POM = join(KAFKA_FILES, 'pom.xml')
const FORMAT_MS = 600_000
/** The data folder of a new node, as Kafka formats it. Nodes start from a copy. */
const FORMATTED = 'formatted'

/** Apache Kafka and what it needs, in a folder that all runs on this machine share. */
export interface KafkaInstall {
  readonly classPath: string
  /** The data folder of a new node. */
  readonly formatted: string
  /** The folder of what is made of the libraries. */
  readonly made: string
}

export type FoundKafkaInstall =
  | { readonly found: true; readonly install: KafkaInstall }
  | Extract<Found, { found: false }>

/** Java and Maven come from Debian, Kafka from Maven Central. Java has run once where the folder exists. */
export async function findKafkaInstall(): Promise<FoundKafkaInstall> {
  const folder = join(await cacheFolder(), 'libraries')
  if (!existsSync(folder)) {
    const maven = await findMaven()
    if (!maven.found) return maven
    try {
      await makeOnce(folder, async partial => {
        await copyDependencies(POM, partial, versionProperty())
        await formatOnce(partial)
      })
    } catch (error) {
      return missing('Apache Kafka', `Maven could not bring it: ${error}`)
    }
  }
  return { found: true, install: await readInstall(folder) }
}

/** Another pom or version means other libraries, so each has a folder. */
async function cacheFolder(): Promise<string> {
  const version = createHash('sha256')
    .update(await readFile(POM))
    .update(givenVersion() ?? '')
    .digest('hex')
    .slice(0, 12)
  return join(CACHES, `kafka-${version}`)
}

/** The release that LAZARET_TEST_KAFKA_VERSION names in place of the one in the pom. */
function givenVersion(): string | undefined {
  return process.env['LAZARET_TEST_KAFKA_VERSION'] || undefined
}

function versionProperty(): Record<string, string> {
  const version = givenVersion()
  return version === undefined ? {} : { 'kafka.version': version }
}

/** Formats a folder as an operator does. It takes a Java process, so each node gets a copy instead. */
async function formatOnce(folder: string): Promise<void> {
  const properties = join(folder, 'format.properties')
  const { classPath, formatted } = await readInstall(folder)
  const settings = [
    'process.roles=broker,controller',
    'node.id=1',
    'controller.quorum.voters=1@127.0.0.1:9093',
    'controller.listener.names=CONTROLLER',
    'listeners=PLAINTEXT://127.0.0.1:9092,CONTROLLER://127.0.0.1:9093',
    `log.dirs=${formatted}`,
  ]
  await writeFile(properties, settings.join('\n'))
  const words = ['-cp', classPath, 'kafka.tools.StorageTool', 'format', '-t', 'lazaret', '-c', properties]
  await run('java', words, { timeout: FORMAT_MS })
}

async function readInstall(folder: string): Promise<KafkaInstall> {
  return {
    classPath: await classPathOf(folder),
    formatted: join(folder, FORMATTED),
    made: dirname(folder),
  }
}
