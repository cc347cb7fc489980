export interface Bar {
  readonly x: number
  readonly y: number
  readonly width: number
  readonly height: number
}

const LEAST_HEIGHT = 1.5

/** One bar per count, as high as its share of the highest. A count above zero is always seen. */
export function barsOf(counts: readonly number[], width: number, height: number, gap = 1): readonly Bar[] {
  if (counts.length === 0) return []
  const highest = Math.max(1, ...counts)
  const step = width / counts.length
  return counts.map((count, index) => {
    const tall = count <= 0 ? 0 : Math.max(LEAST_HEIGHT, (count / highest) * height)
    return { x: round(index * step), y: round(height - tall), width: round(step - gap), height: round(tall) }
  })
}

/** All bars as one path: a list of many sparklines stays cheap to draw. */
export function barsPath(counts: readonly number[], width: number, height: number, gap = 1): string {
  return barsOf(counts, width, height, gap)
    .filter(bar => bar.height > 0)
    .map(bar => `M${bar.x} ${bar.y}h${bar.width}v${bar.height}h${-bar.width}z`)
    .join('')
}

export interface Part {
  readonly x: number
  readonly width: number
}

/**
 * Where the parts of a whole stand side by side. A part above zero is never narrower than `least`, so that one failure
 * among a million is still seen; the widest parts give that room.
 */
export function partsOf(counts: readonly number[], width: number, least = 3): readonly Part[] {
  const total = counts.reduce((sum, count) => sum + count, 0)
  if (total <= 0) return counts.map(() => ({ x: 0, width: 0 }))
  const wanted = counts.map(count => (count <= 0 ? 0 : Math.max(least, (count / total) * width)))
  const fixed = wanted.filter(each => each === least).length * least
  const free = wanted.reduce((sum, each) => (each > least ? sum + each : sum), 0)
  const shrink = free === 0 ? 1 : Math.max(0, width - fixed) / free
  let x = 0
  return wanted.map(each => {
    const part = { x: round(x), width: round(each > least ? each * shrink : each) }
    x += part.width
    return part
  })
}

function round(value: number): number {
  return Math.round(value * 100) / 100
}
