// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the tests show how variables are written
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { cliWorld } from '../../../test/support/cli.ts'

let folder: string
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'lazaret-check-'))
})
afterEach(() => rm(folder, { recursive: true }))

describe('config check', () => {
  it('F7 R1: lists the faults of the server and of the policies in the order of the file', async () => {
    await writeFile(
      join(folder, 'other.yaml'),
      'policies:\n  preset: none\nretention: soon\nservice: { url: "${NOT_SET}" }\n',
    )
    const { lazaret } = cliWorld(folder)
    const { code, out } = await lazaret('config', 'check', 'other.yaml')
    expect(code).toBe(1)
    expect(out.split('\n').map(line => line.split('; ')[0])).toEqual([
      'other.yaml:2: policies.preset: got "none"',
      'other.yaml:3: retention: got "soon"',
      'other.yaml:4: ${NOT_SET}: got a variable that is not set',
      '',
    ])
    const { json } = await lazaret('config', 'check', 'other.yaml', '--json')
    expect(json).toMatchObject([
      { ok: false, file: 'other.yaml', faults: [{ line: 2 }, { line: 3 }, { line: 4 }] },
    ])
  })

  it('F7: says that a file is valid, that there is none, or that it is missing', async () => {
    const { lazaret } = cliWorld(folder)
    expect(await lazaret('config', 'check')).toMatchObject({
      code: 0,
      out: 'no config file; the defaults apply\n',
    })
    await writeFile(join(folder, 'lazaret.yaml'), 'policies: { preset: staging }')
    expect(await lazaret('config', 'check')).toMatchObject({ code: 0, out: 'lazaret.yaml is valid\n' })
    expect(await lazaret('config', 'check', '--json')).toMatchObject({ code: 0, json: [{ ok: true }] })
    const gone = await lazaret('config', 'check', 'gone.yaml')
    expect(gone).toMatchObject({ code: 2, out: '' })
    expect(gone.err).toContain('gone.yaml: config file not found')
  })
})
