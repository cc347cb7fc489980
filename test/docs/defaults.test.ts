import { expect, it } from 'vitest'
import { BREAKER_PRESETS } from '../../src/core/breaker/options.ts'
import { DEFAULT_LETTER_CAPS } from '../../src/core/dead-letter/caps.ts'
import { REASONS } from '../../src/core/dead-letter/reason.ts'
import { RETRY_LIMIT_PRESETS } from '../../src/core/limit/options.ts'
import { RETRY_PRESETS } from '../../src/core/retry/presets.ts'
import { readPage } from './markdown.ts'

/** The cells of the row that begins with this option, without its name. */
function row(page: string, option: string): string[] {
  const line = readPage(`docs/policies/${page}.md`)
    .text.split('\n')
    .find(text => text.startsWith(`| \`${option}\` |`))
  return (line ?? '')
    .split('|')
    .slice(2)
    .map(cell => cell.replaceAll(/[`\s]/g, ''))
}

it('F8: the defaults of a retry are those of the code', () => {
  const { producer, consumer, outbox } = RETRY_PRESETS
  const presets = [producer, consumer, outbox]
  expect(row('retry', 'attempts').slice(0, 3)).toEqual(presets.map(({ attempts }) => `${attempts}`))
  expect(row('retry', 'retryAfterMaxMs').slice(0, 3)).toEqual(
    presets.map(({ retryAfterMaxMs }) => `${retryAfterMaxMs}`),
  )
})

it.each(['failures', 'openMs', 'successes', 'probes'] as const)(
  'F8: the default of a breaker is that of the code: %s',
  option => {
    const { producer, consumer } = BREAKER_PRESETS
    expect(row('breaker', option).slice(0, 2)).toEqual([`${producer[option]}`, `${consumer[option]}`])
  },
)

it.each(['perSecond', 'onLimit', 'jitterRatio'] as const)(
  'F8: the presets of the retry limit are those of the code: %s',
  option => {
    const { production, staging, development } = RETRY_LIMIT_PRESETS
    const page = readPage('docs/policies/limits.md').text
    const section = page.slice(page.indexOf('## Retry limit'))
    const line = section.split('\n').find(text => text.startsWith(`| \`${option}\` |`))!
    const cells = line.split('|').map(cell => cell.replaceAll(/[`\s]/g, ''))
    expect(cells.slice(3, 6)).toEqual([production, staging, development].map(preset => `${preset[option]}`))
  },
)

it.each(['maxAttempts', 'maxCycles', 'keepStack', 'maxStackBytes', 'maxMessageBytes'] as const)(
  'F8: the default of a cap is that of the code: %s',
  option => {
    expect(row('dead-letters', option)[0]).toBe(`${DEFAULT_LETTER_CAPS[option]}`)
  },
)

it('F8: the page lists every reason, and no other', () => {
  const page = readPage('docs/policies/dead-letters.md').text
  const section = page.slice(page.indexOf('## Reasons'), page.indexOf('## States'))
  const listed = [...section.matchAll(/^\| `(\w+)` \|/gm)].map(([, reason]) => reason)
  expect(listed.sort()).toEqual(Object.keys(REASONS).sort())
})
