import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { loadConfig } from './load.ts'

let folder: string
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'lazaret-config-'))
})
afterEach(() => rm(folder, { recursive: true }))

describe('the config file is found', () => {
  it('F7: as lazaret.yaml of the folder, or not at all', async () => {
    expect(await loadConfig({ cwd: folder, env: {} })).toMatchObject({ file: undefined, folder })
    await writeFile(join(folder, 'lazaret.yaml'), 'store: file:./letters')
    expect(await loadConfig({ cwd: folder, env: {} })).toMatchObject({
      file: 'lazaret.yaml',
      folder,
      config: { store: 'file:./letters' },
    })
  })

  it('F7: one that is named must be there', async () => {
    await expect(loadConfig({ file: 'other.yaml', cwd: folder, env: {} })).rejects.toMatchObject({
      code: 'LAZARET_CONFIG_INVALID',
      message: expect.stringMatching(/^other\.yaml: config file not found; /),
    })
  })

  it('F7: what cannot be read says why', async () => {
    await expect(loadConfig({ file: '.', cwd: folder, env: {} })).rejects.toThrow('EISDIR')
  })
})
