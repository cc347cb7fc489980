import type { Trend } from '../api/types.ts'
import { type AreaPoint, areaOf } from '../lib/area.ts'
import { whole } from '../lib/numbers.ts'
import type { IconName } from './icons.tsx'
import { Tag, type Tone } from './tags.tsx'
import './area.css'

const WIDTH = 320
const HEIGHT = 64

/** A depth over time. What it shows is said in words too, for who cannot see it. */
export function DepthArea({ points, over }: { points: readonly AreaPoint[]; over: string }) {
  const { line, area } = areaOf(points, WIDTH, HEIGHT)
  const values = points.map(({ value }) => value)
  const told =
    values.length === 0
      ? 'have no snapshot yet'
      : `${over}: from ${whole(values[0]!)} to ${whole(values.at(-1)!)}, highest ${whole(Math.max(...values))}, lowest ${whole(Math.min(...values))}`
  return (
    <svg
      className="depth-area"
      viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
      width={WIDTH}
      height={HEIGHT}
      preserveAspectRatio="none"
      role="img"
      aria-label={`Waiting letters ${told}`}
    >
      <path className="ground" d={area} />
      <path className="line" d={line} />
      <path className="base" d={`M0 ${HEIGHT - 0.5}H${WIDTH}`} />
    </svg>
  )
}

const TRENDS: Readonly<Record<Trend, readonly [Tone, IconName, string]>> = {
  rising: ['signal', 'up', 'rising'],
  falling: ['good', 'down', 'falling'],
  stable: ['plain', 'dash', 'stable'],
  unknown: ['plain', 'dots', 'not enough data'],
}

export function TrendTag({ trend }: { trend: Trend }) {
  const [tone, glyph, word] = TRENDS[trend]
  return (
    <Tag tone={tone} glyph={glyph}>
      {word}
    </Tag>
  )
}
