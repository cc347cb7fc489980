import { drawKinds, type Size } from './draw.ts'

/** What must be zero, and what it means when it is not. */
export type Rules<F> = readonly (readonly [keyof F, string])[]

export function violated<F>(rules: Rules<F>, findings: F): string[] {
  return rules
    .filter(([name]) => Number(findings[name]) > 0)
    .map(([name, text]) => `${findings[name]} ${text}`)
}

/** A row of a report: Markdown. */
export function row(what: string, value: string | number): string {
  return `| ${what} | ${value} |`
}

export function ruleRows<F>(rules: Rules<F>, findings: F): string[] {
  return rules.map(([name, text]) => row(`**${text}**`, Number(findings[name])))
}

/** How many messages there are of each kind. */
export function countKinds<K extends string>(
  size: Size,
  shares: Readonly<Record<K, number>>,
): (kind: K) => number {
  const kinds = drawKinds(size, shares)
  return wanted => kinds.filter(kind => kind === wanted).length
}
