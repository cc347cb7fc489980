import type { Arrival } from './receiver.ts'
import type { StormFigures } from './storm.ts'

const WIDTH = 860
const PANEL_HEIGHT = 190
const MARGIN = { left: 64, right: 16, top: 46, bottom: 40 }
const BIN_MS = 100
const SECOND_MS = 1_000

/** Events a second, over the second that ends with each bin: what the limit speaks of. */
export interface Point {
  readonly afterMs: number
  readonly perSecond: number
}

export function perSecond(arrivals: readonly Arrival[], backAtMs: number, untilMs: number): Point[] {
  const points: Point[] = []
  for (let afterMs = 0; afterMs <= untilMs; afterMs += BIN_MS) {
    const end = backAtMs + afterMs
    const count = arrivals.filter(({ atMs }) => atMs > end - SECOND_MS && atMs <= end).length
    points.push({ afterMs, perSecond: count })
  }
  return points
}

/** Both storms above each other, each with its own height, on the same time. */
export function stormSvg(limited: StormFigures, unlimited: StormFigures): string {
  const untilMs =
    Math.ceil(Math.max(limited.drainedAfterMs, unlimited.drainedAfterMs) / SECOND_MS + 1) * SECOND_MS
  const panels = [
    panel(limited, untilMs, 0, `retryLimit: { perSecond: ${limited.plan.limit} }`),
    panel(unlimited, untilMs, PANEL_HEIGHT + MARGIN.top, "retryLimit: 'off'"),
  ]
  const height = 2 * (PANEL_HEIGHT + MARGIN.top) + MARGIN.bottom
  const title = `${limited.plan.waiting} events waited ${limited.plan.downMs / SECOND_MS} s for a sink: requests after its return`
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" font-family="system-ui, sans-serif" font-size="12" role="img" aria-label="${title}">`,
    `<rect width="${WIDTH}" height="${height}" fill="#ffffff"/>`,
    `<text x="${MARGIN.left}" y="20" font-size="15" font-weight="600" fill="#1c2733">${title}</text>`,
    ...panels,
    '</svg>',
    '',
  ].join('\n')
}

function panel(figures: StormFigures, untilMs: number, top: number, title: string): string {
  const { arrivals, backAtMs, mostInASecond, drainedAfterMs, lost, plan } = figures
  const points = perSecond(arrivals, backAtMs, untilMs)
  const highest = niceAbove(mostInASecond)
  const x = (ms: number) => MARGIN.left + (ms / untilMs) * (WIDTH - MARGIN.left - MARGIN.right)
  const bottom = top + MARGIN.top + PANEL_HEIGHT - MARGIN.bottom
  const y = (rate: number) => bottom - (rate / highest) * (PANEL_HEIGHT - MARGIN.bottom - 16)
  const line = points
    .map(({ afterMs, perSecond: rate }) => `${round(x(afterMs))},${round(y(rate))}`)
    .join(' ')
  const area = `${round(x(0))},${bottom} ${line} ${round(x(untilMs))},${bottom}`
  const said = `at most ${mostInASecond} in any second · drained after ${(drainedAfterMs / SECOND_MS).toFixed(1)} s · ${lost} lost`
  const seconds = Array.from({ length: untilMs / SECOND_MS + 1 }, (_, second) => second)
  return [
    `<text x="${MARGIN.left}" y="${top + MARGIN.top - 4}" fill="#1c2733"><tspan font-family="monospace">${title}</tspan> <tspan fill="#5b6773">${said}</tspan></text>`,
    ...[0, highest / 2, highest].map(
      rate =>
        `<line x1="${MARGIN.left}" x2="${WIDTH - MARGIN.right}" y1="${y(rate)}" y2="${y(rate)}" stroke="#dfe4e8"/><text x="${MARGIN.left - 8}" y="${y(rate) + 4}" text-anchor="end" fill="#5b6773">${rate}/s</text>`,
    ),
    ...seconds.map(
      second =>
        `<text x="${round(x(second * SECOND_MS))}" y="${bottom + 18}" text-anchor="middle" fill="#5b6773">${second === 0 ? 'back' : `${second} s`}</text>`,
    ),
    `<polygon points="${area}" fill="#2f6f9f" fill-opacity="0.25"/>`,
    `<polyline points="${line}" fill="none" stroke="#2f6f9f" stroke-width="2"/>`,
    ...(plan.limit === 'off'
      ? []
      : [
          `<line x1="${MARGIN.left}" x2="${WIDTH - MARGIN.right}" y1="${y(plan.limit)}" y2="${y(plan.limit)}" stroke="#b3362c" stroke-dasharray="6 4"/><text x="${WIDTH - MARGIN.right}" y="${y(plan.limit) - 5}" text-anchor="end" fill="#b3362c">the limit</text>`,
        ]),
  ].join('\n')
}

function round(value: number): number {
  return Math.round(value * 10) / 10
}

/** A round figure that leaves some air above the line. */
function niceAbove(value: number): number {
  const step = 10 ** Math.floor(Math.log10(value))
  return Math.ceil((value * 1.05) / step) * step
}
