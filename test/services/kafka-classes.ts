import { existsSync } from 'node:fs'
import { rename } from 'node:fs/promises'
import { join } from 'node:path'
import type { KafkaInstall } from './kafka-install.ts'
import { KafkaNode, QUICK_START } from './kafka-node.ts'

/**
 * Java loads the classes of Kafka from an archive instead of reading them from the libraries, so a broker starts in half of
 * the time. A Java of another version ignores the archive.
 */
export function withArchivedClasses(install: KafkaInstall): readonly string[] {
  const archive = archiveOf(install)
  return existsSync(archive) ? [...QUICK_START, `-XX:SharedArchiveFile=${archive}`] : QUICK_START
}

/** Starts a broker once. It writes the archive when it stops. */
export async function archiveClasses(install: KafkaInstall): Promise<void> {
  const archive = archiveOf(install)
  if (existsSync(archive)) return
  // Two runs at once write two files.
  const partial = `${archive}-${process.pid}`
  const jvm = [...QUICK_START, `-XX:ArchiveClassesAtExit=${partial}`]
  const [node] = await KafkaNode.createCluster(install, 1, {}, jvm)
  try {
    await node!.start()
    await node!.stop()
    await rename(partial, archive)
  } finally {
    await node!.remove()
  }
}

function archiveOf({ made }: KafkaInstall): string {
  return join(made, 'classes.jsa')
}
