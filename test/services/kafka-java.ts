import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { withArchivedClasses } from './kafka-classes.ts'
import { findKafkaInstall, KAFKA_FILES, type KafkaInstall } from './kafka-install.ts'
import { makeOnce } from './make-once.ts'
import { runProgram } from './run-program.ts'

const CLIENT = 'JavaClient'

/** A record as Java's client writes and reads it. The partition and the timestamp may be left to the client. */
export interface JavaRecord {
  readonly key: Buffer | null
  readonly value: Buffer | null
  readonly headers: readonly (readonly [name: string, value: Buffer | null])[]
  readonly partition?: number
  readonly timestamp?: number
}

/** Resolves when every record is acknowledged by all replicas. */
export async function produceByJava(
  brokers: readonly string[],
  topic: string,
  records: readonly JavaRecord[],
): Promise<void> {
  const lines = records.map(({ key, value, headers, ...rest }) =>
    JSON.stringify({
      ...rest,
      key: toBase64(key),
      value: toBase64(value),
      headers: headers.map(([name, bytes]) => [name, toBase64(bytes)]),
    }),
  )
  await runJava(['produce', brokers.join(','), topic], lines.join('\n'))
}

/** The first records of a topic, which has at least so many. */
export async function consumeByJava(
  brokers: readonly string[],
  topic: string,
  count: number,
): Promise<Required<JavaRecord>[]> {
  const output = await runJava(['consume', brokers.join(','), topic, String(count)], '')
  return output
    .trim()
    .split('\n')
    .map(line => {
      const { key, value, headers, ...rest } = JSON.parse(line)
      return {
        ...rest,
        key: toBytes(key),
        value: toBytes(value),
        headers: headers.map(([name, bytes]: [string, string | null]) => [name, toBytes(bytes)]),
      }
    })
}

async function runJava(words: readonly string[], input: string): Promise<string> {
  const found = await findKafkaInstall()
  if (!found.found) throw new Error(found.why)
  const { install } = found
  const logging = `-Dlog4j2.configurationFile=${join(KAFKA_FILES, 'log4j2.properties')}`
  const classPath = `${install.classPath}:${await compiledClient(install)}`
  return runProgram(
    'java',
    [...withArchivedClasses(install), logging, '-cp', classPath, CLIENT, ...words],
    input,
  )
}

/** The folder of the compiled client. It is compiled once for each change of its source. */
async function compiledClient({ classPath, made }: KafkaInstall): Promise<string> {
  const source = join(KAFKA_FILES, `${CLIENT}.java`)
  const version = createHash('sha256')
    .update(await readFile(source))
    .digest('hex')
    .slice(0, 12)
  const folder = join(made, `client-${version}`)
  await makeOnce(folder, async partial => {
    await runProgram('javac', ['-cp', classPath, '-d', partial, source], '')
  })
  return folder
}

function toBase64(bytes: Buffer | null): string | null {
  return bytes === null ? null : bytes.toString('base64')
}

function toBytes(base64: string | null): Buffer | null {
  return base64 === null ? null : Buffer.from(base64, 'base64')
}
