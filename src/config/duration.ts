const UNIT_MS: Readonly<Record<string, number>> = {
  ms: 1,
  s: 1_000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
  w: 604_800_000,
}
const DURATION = /^(?:\d+(?:\.\d+)?(?:ms|[smhdw]))+$/
const PART = /(\d+(?:\.\d+)?)(ms|[smhdw])/g

/** For a JSON Schema. `isAbove` excludes 0. */
export function durationPattern(isAbove: boolean): string {
  return `^${isAbove ? '(?=.*[1-9])' : ''}${DURATION.source.slice(1)}`
}

/** A duration as a file gives it: `30s` for 30 000. */
export function durationText(ms: number): string {
  const [unit = 'ms', length = 1] =
    Object.entries(UNIT_MS)
      .reverse()
      .find(([unit, each]) => unit !== 'w' && ms >= each && ms % each === 0) ?? []
  return `${ms / length}${unit}`
}

/** Milliseconds of `90s`, `1h30m`, `3d`; undefined when the text is not a duration. */
export function durationMs(text: string): number | undefined {
  if (!DURATION.test(text)) return undefined
  let ms = 0
  for (const [, amount, unit] of text.matchAll(PART)) ms += Number(amount) * UNIT_MS[unit!]!
  return Number.isSafeInteger(Math.round(ms)) ? Math.round(ms) : undefined
}
