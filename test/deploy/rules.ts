import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parse } from 'yaml'
import { ROOT } from '../support/source.ts'

export const RULES = join(ROOT, 'deploy/prometheus/lazaret.rules.yaml')
export const RULE_TESTS = join(ROOT, 'deploy/prometheus/tests')

export interface Alert {
  readonly alert: string
  readonly expr: string
  readonly for?: string
  readonly labels: Readonly<Record<string, string>>
  readonly annotations: Readonly<Record<string, string>>
}

export interface Recorded {
  readonly record: string
  readonly expr: string
}

type Rule = Alert | Recorded

const rules: readonly Rule[] = parse(readFileSync(RULES, 'utf8')).groups.flatMap(
  (group: { rules: readonly Rule[] }) => group.rules,
)
export const ALERTS = rules.filter(rule => 'alert' in rule)
export const RECORDED = rules.filter(rule => 'record' in rule)

interface Look {
  readonly alertname: string
  readonly eval_time: string
  readonly exp_alerts?: readonly unknown[]
}

/** What the unit tests look at, one list for each world that they make up. */
export const LOOKS: readonly (readonly Look[])[] = readdirSync(RULE_TESTS)
  .filter(name => name.endsWith('.yaml'))
  .flatMap(name => parse(readFileSync(join(RULE_TESTS, name), 'utf8')).tests)
  .map(({ alert_rule_test }: { alert_rule_test: readonly Look[] }) => alert_rule_test)

const DURATION = /(\d+)(ms|[smhdw])/g
const SECONDS: Readonly<Record<string, number>> = { ms: 0.001, s: 1, m: 60, h: 3_600, d: 86_400, w: 604_800 }

export function seconds(duration: string): number {
  return [...duration.matchAll(DURATION)].reduce((sum, [, n, unit]) => sum + Number(n) * SECONDS[unit!]!, 0)
}

/**
 * The rules with every duration divided, and nothing else changed: `for`, intervals, ranges and offsets. So a test of
 * minutes takes seconds, with the expressions that are used.
 */
export function faster(text: string, times: number): string {
  const shorten = (duration: string) => `${Math.max(1, Math.round(seconds(duration) / times))}s`
  return text
    .replace(/^(\s*(?:for|interval): )(\S+)$/gm, (_, key, duration) => key + shorten(duration))
    .replace(/\[(\w+)\]/g, (_, range) => `[${shorten(range)}]`)
    .replace(/\boffset (\w+)/g, (_, offset) => `offset ${shorten(offset)}`)
}
