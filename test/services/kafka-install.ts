import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { readdir, readFile, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { type Found, findPackage, missing } from './debian.ts'
import { CACHES, makeOnce } from './make-once.ts'
import { runs } from './prometheus.ts'

const run = promisify(execFile)

export const KAFKA_FILES = join(import.meta.dirname, 'kafka')
const POM = join(KAFKA_FILES, 'pom.xml')
/** It is named with its version, because Maven would ask for the newest one at every call. */
const COPY_DEPENDENCIES = 'org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies'
/** Mirrors of Maven Central answer 503 when they are busy. Maven keeps what it has, so the next call goes on from there. */
const DOWNLOADS = 8
const DOWNLOAD_MS = 600_000
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
    const java = await findPackage('default-jdk-headless', async () => (await runs('java')) && runs('javac'))
    if (!java.found) return java
    const maven = await findPackage('maven', () => runs('mvn'))
    if (!maven.found) return maven
    try {
      await makeOnce(folder, async partial => {
        await copyDependencies(partial)
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

async function copyDependencies(folder: string): Promise<void> {
  const words = [
    '-q',
    '-B',
    '-f',
    POM,
    COPY_DEPENDENCIES,
    '-DincludeScope=runtime',
    `-DoutputDirectory=${folder}`,
    ...(givenVersion() === undefined ? [] : [`-Dkafka.version=${givenVersion()}`]),
  ]
  for (let tries = 1; ; tries++) {
    try {
      await run('mvn', words, { timeout: DOWNLOAD_MS })
      return
    } catch (error) {
      if (tries === DOWNLOADS) throw new Error(firstLine(error))
    }
  }
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
  await run('java', words, { timeout: DOWNLOAD_MS })
}

async function readInstall(folder: string): Promise<KafkaInstall> {
  const jars = (await readdir(folder)).filter(name => name.endsWith('.jar')).sort()
  return {
    classPath: jars.map(name => join(folder, name)).join(':'),
    formatted: join(folder, FORMATTED),
    made: dirname(folder),
  }
}

function firstLine(error: unknown): string {
  const said = String((error as { stdout?: string }).stdout ?? '') || String(error)
  return said.trim().split('\n')[0]!
}
