import { afterAll } from 'vitest'
import { type CollectedRecord, recordsOf } from '../receivers/otlp.ts'
import { spansOf } from '../receivers/otlp-traces.ts'
import { type Collector, findCollector } from '../services/collector.ts'
import type { CollectorNode, CollectorSettings } from '../services/collector-node.ts'
import { ifAsked } from '../services/receivers.ts'
import type { TracesReceiver } from './tracing-world.ts'

export interface CollectorWorld {
  readonly found: Collector
  /** For the titles of tests that are skipped. */
  readonly why: string
  /** A collector of its own, which ends with the tests of the file. */
  start(settings?: CollectorSettings): Promise<CollectorNode>
}

/** OpenTelemetry Collectors for the tests of one file. */
export async function collectorWorld(): Promise<CollectorWorld> {
  const found = await ifAsked(findCollector)
  const nodes: CollectorNode[] = []
  afterAll(async () => {
    for (const node of nodes) await node.remove()
  })
  return {
    found,
    why: found.found ? '' : ` (skipped: ${found.why})`,
    async start(settings) {
      if (!found.found) throw new Error(found.why)
      const node = await found.start(settings)
      nodes.push(node)
      return node
    },
  }
}

/** All records that the collector has, in order. */
export async function recordsIn(node: CollectorNode): Promise<CollectedRecord[]> {
  return (await node.received()).flatMap(recordsOf)
}

/** A collector as a receiver of traces. */
export async function tracesReceiver(starting: Promise<CollectorNode>): Promise<TracesReceiver> {
  const node = await starting
  return {
    tracesUrl: node.tracesUrl,
    spans: async () => (await node.received()).flatMap(spansOf),
    close: () => node.remove(),
  }
}

export function uidsOf(records: readonly CollectedRecord[]): string[] {
  return records.map(({ attributes }) => String(attributes['log.record.uid']))
}
