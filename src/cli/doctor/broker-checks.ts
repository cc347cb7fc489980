import { brokerType } from '../../config/brokers.ts'
import type { Config } from '../../config/config.ts'
import { counted } from '../print/fields.ts'
import { type Check, failWith, ok } from './check.ts'

/** Short, because a person waits for the answer. */
export const ANSWER_MS = 5_000

export type Finding = Omit<Check, 'name'>

interface CheckedBroker {
  readonly handlers: number
  readonly findings: readonly Finding[]
}

/** Checks every broker of one type in the config. What several handlers share is reported once. */
export async function checkBrokers(
  config: Config,
  type: 'kafka' | 'nats',
  { server, things }: { readonly server: string; readonly things: string },
  look: (name: string, url: string, lettersKeptMs: number) => Promise<CheckedBroker>,
): Promise<Check[]> {
  const given = Object.entries(config.brokers ?? {}).filter(([, { url }]) => brokerType(url) === type)
  const checks: Check[] = []
  for (const [name, { url }] of given) {
    try {
      const { handlers, findings } = await look(name, url, lettersKeptMs(config))
      checks.push(ok(type, `${name}: ${counted(handlers, 'handler')} with ${things}`))
      const once = new Map(findings.map(finding => [finding.found, finding]))
      for (const each of once.values()) checks.push({ ...each, name: type, found: `${name}: ${each.found}` })
    } catch (error) {
      checks.push(failWith(type, error, `check the ${server}, and brokers.${name} in the config`))
    }
  }
  return checks
}

/** The store keeps undecided letters this long, so the broker has to keep them too. */
function lettersKeptMs({ expireUndecidedAfter }: Config): number {
  return typeof expireUndecidedAfter === 'number' ? expireUndecidedAfter : Number.POSITIVE_INFINITY
}
