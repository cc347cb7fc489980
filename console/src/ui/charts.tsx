import type { ItemStatus, ReplaySummary } from '../api/types.ts'
import { counted, percent, whole } from '../lib/numbers.ts'
import { barsPath, partsOf } from '../lib/spark.ts'
import './charts.css'

/** Counts over time as bars. `unit` is what one bar stands for, said aloud instead of the picture. */
export function Sparkline({
  counts,
  unit,
  width = 112,
  height = 22,
  tone = 'sea',
  wide = false,
  marks = [],
}: {
  counts: readonly number[]
  unit: string
  width?: number
  height?: number
  tone?: 'sea' | 'signal'
  wide?: boolean
  /** Moments to mark, as shares of the time from 0 to 1. */
  marks?: readonly number[]
}) {
  const total = counts.reduce((sum, count) => sum + count, 0)
  return (
    <svg
      className={`spark ${tone}${wide ? ' wide' : ''}`}
      viewBox={`0 0 ${width} ${height}`}
      width={width}
      height={height}
      preserveAspectRatio="none"
      role="img"
      aria-label={`${whole(total)} in ${counts.length} ${unit}s, at most ${whole(Math.max(0, ...counts))} per ${unit}`}
    >
      <path className="base" d={`M0 ${height - 0.5}H${width}`} />
      <path d={barsPath(counts, width, height - 1)} />
      {marks.map(share => (
        <path key={share} className="moment" d={`M${share * width} 0V${height}`} />
      ))}
    </svg>
  )
}

export const OUTCOMES: readonly { readonly status: ItemStatus; readonly word: string }[] = [
  { status: 'recovered', word: 'recovered' },
  { status: 'failed_same_cause', word: 'failed again, same cause' },
  { status: 'failed_new_cause', word: 'failed again, new cause' },
  { status: 'lost', word: 'lost' },
  { status: 'sent', word: 'sent, outcome unknown' },
  { status: 'skipped', word: 'skipped' },
  { status: 'waiting', word: 'not sent yet' },
]

/** In percent of the bar: so the patterns keep their shape however wide it is. */
const WIDTH = 100

/** What became of the letters of a replay. Each outcome has a pattern of its own, not only a colour. */
export function OutcomeBar({
  counts,
  size = 'small',
}: {
  counts: ReplaySummary['counts']
  size?: 'small' | 'large'
}) {
  const shown = OUTCOMES.map(({ status }) => counts[status] ?? 0)
  const parts = partsOf(shown, WIDTH, size === 'large' ? 0.6 : 2.5)
  const told = OUTCOMES.flatMap(({ word }, index) => (shown[index]! > 0 ? [`${shown[index]} ${word}`] : []))
  const height = size === 'large' ? 28 : 8
  return (
    <svg
      className={`outcomes ${size}`}
      height={height}
      role="img"
      aria-label={told.length === 0 ? 'no letters' : told.join(', ')}
    >
      <rect className="bar-track" width="100%" height={height} />
      {OUTCOMES.map(({ status }, index) => (
        <rect
          key={status}
          className={`outcome-${status}`}
          x={`${parts[index]!.x}%`}
          width={`${parts[index]!.width}%`}
          height={height}
        />
      ))}
    </svg>
  )
}

/** The patterns that the bars are filled with; drawn once for the whole page. */
export function OutcomePatterns() {
  return (
    <svg className="patterns" width="0" height="0" aria-hidden="true" focusable="false">
      <defs>
        <pattern
          id="hatch-same"
          width="7"
          height="7"
          patternUnits="userSpaceOnUse"
          patternTransform="rotate(45)"
        >
          <rect width="7" height="7" className="same-ground" />
          <rect width="2.6" height="7" className="same-line" />
        </pattern>
        <pattern id="hatch-new" width="8" height="8" patternUnits="userSpaceOnUse">
          <rect width="8" height="8" className="new-ground" />
          <circle cx="4" cy="4" r="2" className="new-dot" />
        </pattern>
        <pattern id="hatch-sent" width="9" height="9" patternUnits="userSpaceOnUse">
          <rect width="9" height="9" className="sent-ground" />
          <rect width="9" height="2" y="3.5" className="sent-line" />
        </pattern>
      </defs>
    </svg>
  )
}

/** The numbers of the bar; outcomes that did not happen are said too, because that is the news. */
export function OutcomeLegend({ counts }: { counts: ReplaySummary['counts'] }) {
  const total = Object.values(counts).reduce((sum, count) => sum + count, 0)
  return (
    <ul className="legend">
      {OUTCOMES.filter(({ status }) => (counts[status] ?? 0) > 0 || ALWAYS.has(status)).map(
        ({ status, word }) => (
          <li key={status} className={(counts[status] ?? 0) === 0 ? 'none' : undefined}>
            <svg width="14" height="14" viewBox="0 0 14 14" aria-hidden="true" focusable="false">
              <rect width="14" height="14" rx="3" className={`outcome-${status}`} />
            </svg>
            <strong>{whole(counts[status] ?? 0)}</strong>
            <span>{word}</span>
            <span className="quiet">{total > 0 ? percent((counts[status] ?? 0) / total) : ''}</span>
          </li>
        ),
      )}
    </ul>
  )
}

const ALWAYS: ReadonlySet<ItemStatus> = new Set(['recovered', 'failed_same_cause', 'failed_new_cause'])

/** In words, as on the group's row: replayed 40, recovered 38. */
export function ReplayedText({ replayed, recovered }: { replayed: number; recovered: number }) {
  if (replayed === 0) return <span className="quiet">never replayed</span>
  return (
    <span title={`${counted(replayed - recovered, 'letter')} replayed but not recovered`}>
      <span className="nowrap">replayed {whole(replayed)},</span>{' '}
      <span className={recovered === replayed ? 'nowrap all-well' : 'nowrap'}>
        recovered {whole(recovered)}
      </span>
    </span>
  )
}
