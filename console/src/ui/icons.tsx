// Shapes that carry the meaning of a state without its colour. Drawn here, so that no font or image is needed.
const PATHS = {
  open: 'M8 2.5a5.5 5.5 0 1 1 0 11a5.5 5.5 0 0 1 0-11z',
  flag: 'M4 2v12M4.2 3h8.3v5.4H4.2z',
  check: 'M3.2 8.6l3.1 3.1l6.5-7',
  cross: 'M4 4l8 8M12 4l-8 8',
  diamond: 'M8 2l6 6l-6 6l-6-6z',
  dash: 'M3 8h10',
  pause: 'M5.5 3.5v9M10.5 3.5v9',
  play: 'M5 3.2l8 4.8l-8 4.8z',
  dots: 'M3 8h.01M8 8h.01M13 8h.01',
  back: 'M3 8a5 5 0 1 0 1.6-3.7M4 2v3h3',
  lock: 'M4.5 7.5h7v5.5h-7zM6 7.5V5.5a2 2 0 0 1 4 0v2',
  bell: 'M3 11.5h10M4.5 11.5V7.5a3.5 3.5 0 0 1 7 0v4M3 3l10 10',
  eye: 'M1.8 8S4 4 8 4s6.2 4 6.2 4S12 12 8 12S1.8 8 1.8 8zM8 6.4a1.6 1.6 0 1 1 0 3.2a1.6 1.6 0 0 1 0-3.2z',
  sun: 'M8 5.2a2.8 2.8 0 1 1 0 5.6a2.8 2.8 0 0 1 0-5.6zM8 1.5v1.2M8 13.3v1.2M1.5 8h1.2M13.3 8h1.2M3.4 3.4l.8.8M11.8 11.8l.8.8M12.6 3.4l-.8.8M4.2 11.8l-.8.8',
  moon: 'M13 9.6A5.6 5.6 0 0 1 6.4 3a5.6 5.6 0 1 0 6.6 6.6z',
  screen: 'M2 3.5h12v7.5H2zM6 13.5h4M8 11v2.5',
  copy: 'M5.5 5.5h7.5v7.5H5.5zM3 10.5V3h7.5',
  search: 'M7 2.8a4.2 4.2 0 1 1 0 8.4a4.2 4.2 0 0 1 0-8.4zM10.2 10.2l3.3 3.3',
  out: 'M9 3h4v4M13 3L7 9M11 9.5V13H3V5h3.5',
  arrow: 'M3 8h10M9 4l4 4l-4 4',
  up: 'M8 13V3M4 7l4-4l4 4',
  down: 'M8 3v10M4 9l4 4l4-4',
} as const

export type IconName = keyof typeof PATHS
const FILLED: ReadonlySet<IconName> = new Set(['open', 'diamond', 'play'])

export function Icon({ name, size = 14 }: { name: IconName; size?: number }) {
  return (
    <svg
      className={FILLED.has(name) ? 'glyph filled' : 'glyph'}
      width={size}
      height={size}
      viewBox="0 0 16 16"
      aria-hidden="true"
      focusable="false"
    >
      <path d={PATHS[name]} />
    </svg>
  )
}
