const UNITS = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['min', 60_000],
  ['s', 1_000],
] as const

/** A duration for people: `1 h 5 min`, `40 s`. The two largest units are enough. */
export function spanText(ms: number): string {
  let rest = Math.max(0, Math.round(ms / 1_000)) * 1_000
  const parts: string[] = []
  for (const [unit, unitMs] of UNITS) {
    const amount = Math.floor(rest / unitMs)
    rest -= amount * unitMs
    if (amount > 0) parts.push(`${amount} ${unit}`)
    else if (parts.length > 0) break
    if (parts.length === 2) break
  }
  return parts.join(' ') || '0 s'
}
