import { fileURLToPath } from 'node:url'
import { CollectorNode, type CollectorSettings } from './collector-node.ts'
import type { Missing } from './debian.ts'
import { findGoModule } from './go-module.ts'

const FILES = fileURLToPath(new URL('collector', import.meta.url))

export type Collector =
  | {
      readonly found: true
      readonly binary: string
      start(settings?: CollectorSettings): Promise<CollectorNode>
    }
  | Missing

/**
 * An OpenTelemetry Collector, which Go builds once into a cache from the modules of OpenTelemetry.
 */
export async function findCollector(): Promise<Collector> {
  const found = await findGoModule('otel-collector', FILES)
  if (!found.found) return found
  const { binary } = found
  return {
    found: true,
    binary,
    async start(settings) {
      const node = await CollectorNode.create(binary, settings)
      try {
        await node.start()
      } catch (error) {
        await node.remove()
        throw error
      }
      return node
    },
  }
}
