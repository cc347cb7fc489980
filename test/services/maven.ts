import { execFile } from 'node:child_process'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { type Found, findPackage } from './debian.ts'
import { runs } from './prometheus.ts'

const run = promisify(execFile)

/** It is named with its version, because Maven would ask for the newest one at every call. */
const COPY_DEPENDENCIES = 'org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies'
/** Mirrors of Maven Central answer 503 when they are busy. Maven keeps what it has, so the next call goes on from there. */
const DOWNLOADS = 8
const DOWNLOAD_MS = 600_000

/** Java, with its compiler, and Maven, both from Debian. */
export async function findMaven(): Promise<Found> {
  const java = await findPackage('default-jdk-headless', async () => (await runs('java')) && runs('javac'))
  return java.found ? findPackage('maven', () => runs('mvn')) : java
}

/** Downloads the libraries that the pom names, and what they need, to a folder. */
export async function copyDependencies(
  pom: string,
  folder: string,
  properties: Readonly<Record<string, string>> = {},
): Promise<void> {
  const given = Object.entries({ ...properties, includeScope: 'runtime', outputDirectory: folder })
  const words = [
    '-q',
    '-B',
    '-f',
    pom,
    COPY_DEPENDENCIES,
    ...given.map(([name, value]) => `-D${name}=${value}`),
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

/** The class path of the libraries in a folder. */
export async function classPathOf(folder: string): Promise<string> {
  const jars = (await readdir(folder)).filter(name => name.endsWith('.jar')).sort()
  return jars.map(name => join(folder, name)).join(':')
}

function firstLine(error: unknown): string {
  const said = String((error as { stdout?: string }).stdout ?? '') || String(error)
  return said.trim().split('\n')[0]!
}
