import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { parseConfig } from '../config/config.ts'
import { COMMANDS } from './commands.ts'
import { parse } from './parse.ts'

const page = (name: string) => readFileSync(new URL(`../../docs/reference/${name}`, import.meta.url), 'utf8')

describe('the reference', () => {
  it.each(COMMANDS.map(({ name }) => name))('F8: tells of lazaret %s', name => {
    expect(page('cli.md')).toContain(`\`${name}`)
  })

  it('F8: names exactly the flags that exist', () => {
    const known = new Set(COMMANDS.flatMap(({ flags }) => Object.keys(flags)))
    known.add('version')
    const named = new Set(
      [...page('cli.md').matchAll(/(?<![\w-])--([a-z][a-z-]*)/g)].map(([, name]) => name!),
    )
    expect([...named].filter(name => !known.has(name))).toEqual([])
    expect([...known].filter(name => !named.has(name))).toEqual([])
  })

  it('F8: its command lines can be typed', () => {
    const typed = [...page('cli.md').matchAll(/^(?:npx )?lazaret (.*)$/gm)].map(([, line]) => line!)
    expect(typed.length).toBeGreaterThan(5)
    for (const line of typed) {
      const [command = ''] = line.split(/ \| | {2,}/)
      const argv = [...command.matchAll(/'([^']*)'|(\S+)/g)].map(([, quoted, plain]) => quoted ?? plain!)
      expect(() => parse(argv, 0), line).not.toThrow()
    }
  })

  it('F7: its config file is right, and tells of every key', () => {
    const [, yaml = ''] = /```yaml\n([\s\S]*?)```/.exec(page('config.md')) ?? []
    const key = Buffer.alloc(32).toString('base64')
    const config = parseConfig(yaml, 'config.md', {
      LAZARET_KEY_K1: key,
      LAZARET_KEY_K2: key,
      SLACK_WEBHOOK: 'https://hooks.slack.com/services/x',
      PAGERDUTY_KEY: 'k'.repeat(32),
    })
    for (const name of Object.keys(config))
      expect(page('config.md')).toMatch(new RegExp(`\`${name}\\b|### ${name}\\n`))
  })
})
