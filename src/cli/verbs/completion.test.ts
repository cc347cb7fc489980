import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { describe, expect, it } from 'vitest'
import { cliWorld } from '../../../test/support/cli.ts'
import { COMMANDS } from '../commands.ts'

const { lazaret } = cliWorld()
const execute = promisify(execFile)

/** What bash offers after these words. */
async function offered(...words: string[]): Promise<string[]> {
  const { out } = await lazaret('completion', 'bash')
  const typed = words.map(word => `'${word}'`).join(' ')
  const ask = `COMP_WORDS=(lazaret ${typed}); COMP_CWORD=${words.length}; _lazaret; printf '%s\\n' "\${COMPREPLY[@]}"`
  const { stdout } = await execute('bash', ['-c', `${out}\n${ask}`])
  return stdout.split('\n').filter(word => word !== '')
}

describe('completion', () => {
  it('F8: bash completes verbs, flags and the values of flags', async () => {
    expect(await offered('')).toEqual(
      expect.arrayContaining(['dlq', 'groups', 'replay', 'doctor', 'completion']),
    )
    expect(await offered('dl')).toEqual(['dlq'])
    expect(await offered('dlq', 'pu')).toEqual(['purge'])
    expect(await offered('dlq', 'list', '--cha')).toEqual(['--channel'])
    expect(await offered('dlq', 'list', '--state', 'p')).toEqual(['parked'])
    expect(await offered('groups', 'list', '--state', 'o')).toEqual(['open'])
  })

  it('F8: bash does not take the value of a flag for a verb', async () => {
    expect(await offered('--store', 'memory:', 'replay', 'ca')).toEqual(['cancel'])
    expect(await offered('dlq', 'show', 'some-id', '--rev')).toEqual(['--reveal'])
  })

  it('F8: zsh gets the same, fish a line for every verb and flag', async () => {
    const zsh = await lazaret('completion', 'zsh')
    expect(zsh).toMatchObject({ code: 0, err: '' })
    expect(zsh.out).toMatch(/^#compdef lazaret\n/)
    const { code, out } = await lazaret('completion', 'fish')
    expect(code).toBe(0)
    for (const { name, flags } of COMMANDS) {
      const verb = name.split(' ').at(-1)
      expect(out).toContain(` -a ${verb} `)
      for (const flag of Object.keys(flags)) expect(out).toContain(` -l ${flag}`)
    }
    expect(out).not.toMatch(/-d '[^'\\]*'[a-z]/)
  })
})
