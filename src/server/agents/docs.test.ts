import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { AGENT_RIGHTS } from '../../core/options/agents.ts'
import { PROMPTS } from './prompts.ts'
import { letterResource } from './resources.ts'
import { TOOLS } from './tools/index.ts'

const page = (path: string) => readFileSync(new URL(`../../../docs/${path}`, import.meta.url), 'utf8')

describe('S10: the reference of the tools', () => {
  it('has a row for each tool, made from the table of tools', () => {
    const rows = TOOLS.map(
      ({ name, right, about, changes = 'nothing' }) => `| \`${name}\` | ${right} | ${about} | ${changes} |`,
    )
    const shown = page('reference/agents.md')
      .split('\n')
      .filter(line => /^\| `\w+` \| (?:read|replay|triage|discard) \|/.test(line))
    expect(shown).toEqual(rows)
  })

  it('tells of each prompt, each resource and each right', () => {
    const reference = page('reference/agents.md')
    for (const { name, input } of PROMPTS)
      expect(reference).toContain(`| \`${name}\` | \`${Object.keys(input.shape)}\` |`)
    expect(reference).toContain(letterResource.template.replace('{id}', 'ID'))
    for (const right of AGENT_RIGHTS) expect(page('guides/agents.md')).toContain(`| \`${right}\` |`)
  })
})
