// Takes the picture of the terminal demo: runs it and draws what it printed. `npm run pictures` runs this.
import { execFileSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const COLOURS: Record<string, string> = {
  '1': 'font-weight="bold"',
  '2': 'fill="#8b949e"',
  '31': 'fill="#ff7b72"',
  '32': 'fill="#7ee787"',
  '33': 'fill="#e3b341"',
}
const ESCAPE = String.fromCharCode(27)
const COLOUR = new RegExp(`${ESCAPE}\\[(\\d+)m`, 'g')
const COLOUR_EDGES = new RegExp(`(?=${ESCAPE}\\[[1-9]\\d*m)|(?<=${ESCAPE}\\[0m)`)
const LINE_HEIGHT = 18
const CHARACTER_WIDTH = 7.8
const MARGIN = 16

const root = fileURLToPath(new URL('../../', import.meta.url))
const printed = execFileSync('npx', ['node', 'examples/flaky-call.ts'], {
  cwd: root,
  encoding: 'utf8',
  env: { ...process.env, FORCE_COLOR: '1' },
  stdio: ['ignore', 'pipe', 'ignore'],
})
writeFileSync(new URL('demo.svg', import.meta.url), draw(printed.trimEnd().split('\n')))

function draw(lines: readonly string[]): string {
  const plain = lines.map(line => line.replaceAll(COLOUR, ''))
  const width = Math.round(Math.max(...plain.map(line => line.length)) * CHARACTER_WIDTH + 2 * MARGIN)
  const height = lines.length * LINE_HEIGHT + 2 * MARGIN
  const texts = lines.map((line, index) => {
    const y = MARGIN + (index + 0.75) * LINE_HEIGHT
    return `<text x="${MARGIN}" y="${y}" xml:space="preserve">${spans(line)}</text>`
  })
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" font-family="ui-monospace, Menlo, Consolas, monospace" font-size="13" fill="#e6edf3">
<rect width="100%" height="100%" rx="8" fill="#0d1117"/>
${texts.join('\n')}
</svg>
`
}

function spans(line: string): string {
  return line
    .split(COLOUR_EDGES)
    .map(part => {
      const style = COLOURS[part.match(/^\W\[(\d+)m/)?.[1] ?? '']
      const text = forXml(part.replaceAll(COLOUR, ''))
      return style === undefined ? text : `<tspan ${style}>${text}</tspan>`
    })
    .join('')
}

function forXml(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
}
