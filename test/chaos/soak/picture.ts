import type { Sample } from './plan.ts'
import type { StoreFindings } from './report.ts'
import { pointsOf, SERIES, type Series } from './series.ts'
import type { Point } from './trend.ts'

const WIDTH = 860
const HEIGHT = 680
const MARGIN = 16
const PANEL = { width: 392, height: 164, top: 70, left: 44, bottom: 24, gap: 40 } as const
const GRID_LINES = 4
/** Times between which the axis has labels, in minutes. */
const TICKS_MINUTES = [1, 5, 10, 20, 30, 60]
const MOST_TICKS = 8
const MS_PER_MINUTE = 60_000

interface Curve {
  readonly label: string
  readonly style: 'first' | 'second' | 'idle'
  readonly points: readonly Point[]
}

interface Panel {
  readonly title: string
  readonly unit: string
  readonly curves: readonly Curve[]
  /** The scale ends at this share of the points. Single peaks would press the others flat. */
  readonly upTo: number
}

/** The colours follow the reader's: a picture in a page has no other way to know them. */
const STYLE = `
.text { fill: #1c2733 } .faint { fill: #5b6773 } .grid { stroke: #dfe4e8 } .fault { stroke: #c2410c }
.first { stroke: #0b6bcb } .second { stroke: #0f8a5f } .idle { stroke: #98a2ad }
.first-text { fill: #0b6bcb } .second-text { fill: #0f8a5f } .idle-text { fill: #5b6773 }
polyline { fill: none; stroke-width: 1.5 } .page { fill: #ffffff }
@media (prefers-color-scheme: dark) {
  .text { fill: #e6ebf0 } .faint { fill: #9aa7b3 } .grid { stroke: #303a44 } .fault { stroke: #fb923c }
  .first { stroke: #5aa9f5 } .second { stroke: #4cc79a } .idle { stroke: #74808b }
  .first-text { fill: #5aa9f5 } .second-text { fill: #4cc79a } .idle-text { fill: #9aa7b3 }
  .page { fill: #14191f }
}`

/** One picture of a store: its memory, handles, files, loop delay and open events over the same time. */
export function drawPicture({ store, samples, faults }: StoreFindings, when: string): string {
  const faultTimes = faults.map(({ atMs }) => atMs)
  const lastMs = samples.at(-1)?.atMs ?? 1
  const title = `Soak of ${store}: ${Math.round(lastMs / MS_PER_MINUTE)} min on ${when}`
  const drawn = panelsOf(samples).flatMap((panel, index) => {
    const x = MARGIN + (index % 2) * (PANEL.width + 2 * MARGIN)
    const y = PANEL.top + Math.floor(index / 2) * (PANEL.height + PANEL.gap)
    return drawPanel(panel, x, y, lastMs, faultTimes)
  })
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${HEIGHT}" font-family="system-ui, sans-serif" font-size="11" role="img" aria-label="${title}">`,
    `<style>${STYLE}</style>`,
    `<rect class="page" width="${WIDTH}" height="${HEIGHT}"/>`,
    `<text class="text" x="${MARGIN}" y="26" font-size="15" font-weight="600">${title}</text>`,
    `<text class="faint" x="${MARGIN}" y="44">Ticks below each panel are faults. The first quarter is the warm-up.</text>`,
    ...drawn,
    '</svg>',
    '',
  ].join('\n')
}

function panelsOf(samples: readonly Sample[]): Panel[] {
  const curve = (style: Curve['style'], series: Series, label = series.name): Curve => ({
    label,
    style,
    points: pointsOf(samples, series),
  })
  const idle: Series = { ...SERIES.delay, of: sample => sample.idleLoopDelayMs }
  const open: Series = { name: 'events without an end', unit: '', tolerance: 0, of: sample => sample.open }
  const { heap, rss, descriptors, handles, size, delay } = SERIES
  const single = (series: Series): Panel => ({
    title: series.name,
    unit: series.unit,
    upTo: 1,
    curves: [curve('first', series)],
  })
  return [
    single(heap),
    single(rss),
    { title: 'handles', unit: '', upTo: 1, curves: [curve('second', descriptors), curve('first', handles)] },
    single(size),
    {
      title: delay.name,
      unit: 'ms',
      upTo: 0.98,
      curves: [curve('idle', idle, 'idle process'), curve('first', delay, 'process of the store')],
    },
    single(open),
  ]
}

function drawPanel(
  { title, unit, curves, upTo }: Panel,
  x: number,
  y: number,
  lastMs: number,
  faults: readonly number[],
): string[] {
  const left = x + PANEL.left
  const right = x + PANEL.width
  const bottom = y + PANEL.height - PANEL.bottom
  const top = y + 24
  const values = curves.flatMap(({ points }) => points.map(({ value }) => value)).toSorted((a, b) => a - b)
  const most = niceTop(values[Math.ceil(values.length * upTo) - 1] ?? 1)
  const atX = (atMs: number) => round(left + (atMs / lastMs) * (right - left))
  const atY = (value: number) => round(bottom - (Math.min(value, most) / most) * (bottom - top))
  const grid = Array.from({ length: GRID_LINES + 1 }, (_, index) => (most * index) / GRID_LINES)
  return [
    `<text class="text" x="${x}" y="${y + 8}" font-size="12" font-weight="600">${title}${unit && `, ${unit}`}</text>`,
    ...drawLegend(curves, right, y + 8),
    ...grid.flatMap(value => [
      `<line class="grid" x1="${left}" x2="${right}" y1="${atY(value)}" y2="${atY(value)}"/>`,
      `<text class="faint" x="${left - 6}" y="${atY(value) + 4}" text-anchor="end">${round(value)}</text>`,
    ]),
    ...ticksOf(lastMs).map(
      minutes =>
        `<text class="faint" x="${atX(minutes * MS_PER_MINUTE)}" y="${bottom + 19}" text-anchor="middle">${minutes} min</text>`,
    ),
    ...faults.map(
      atMs =>
        `<line class="fault" x1="${atX(atMs)}" x2="${atX(atMs)}" y1="${bottom + 2}" y2="${bottom + 7}"/>`,
    ),
    ...curves.map(
      ({ points, style }) =>
        `<polyline class="${style}" points="${points.map(({ atMs, value }) => `${Math.round(atX(atMs))},${atY(value)}`).join(' ')}"/>`,
    ),
  ]
}

/** From the right, so that the title has its place. */
function drawLegend(curves: readonly Curve[], right: number, y: number): string[] {
  const labels = curves.length === 1 ? [] : curves.toReversed()
  const text = labels
    .map(({ label, style }) => `<tspan class="${style}-text" dx="10">${label}</tspan>`)
    .join('')
  return text === '' ? [] : [`<text x="${right}" y="${y}" text-anchor="end">${text}</text>`]
}

function ticksOf(lastMs: number): number[] {
  const minutes = lastMs / MS_PER_MINUTE
  const step = TICKS_MINUTES.find(each => minutes / each <= MOST_TICKS) ?? TICKS_MINUTES.at(-1)!
  return Array.from({ length: Math.floor(minutes / step) + 1 }, (_, index) => index * step)
}

/** The next of 1, 2, 4, 6, 8 or 10 times a power of ten above the value, so that the grid has short labels. */
function niceTop(value: number): number {
  const power = 10 ** Math.floor(Math.log10(Math.max(value, 1)))
  return ([1, 2, 4, 6, 8].find(factor => factor * power >= value) ?? 10) * power
}

function round(value: number): number {
  return Math.round(value * 10) / 10
}
