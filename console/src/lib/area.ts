export interface AreaPoint {
  readonly at: number
  readonly value: number
}

/** Room for the line itself, so that it is not cut off where it is highest. */
const TOP = 2

/** A line over time and the area under it, as paths. What was seen only once is drawn as if it had always been so. */
export function areaOf(
  points: readonly AreaPoint[],
  width: number,
  height: number,
): { readonly line: string; readonly area: string } {
  const [first] = points
  const last = points.at(-1)
  if (first === undefined || last === undefined) return { line: '', area: '' }
  const highest = Math.max(1, ...points.map(({ value }) => value))
  const spanMs = last.at - first.at
  const y = (value: number) => round(height - (value / highest) * (height - TOP))
  const x = (at: number) => round(((at - first.at) / spanMs) * width)
  const steps =
    spanMs <= 0
      ? [`0 ${y(last.value)}`, `${width} ${y(last.value)}`]
      : points.map(({ at, value }) => `${x(at)} ${y(value)}`)
  const line = `M${steps.join('L')}`
  return { line, area: `${line}V${height}H0z` }
}

function round(value: number): number {
  return Math.round(value * 100) / 100
}
