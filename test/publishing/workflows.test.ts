import { execFile } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import { findActionlint } from '../services/actionlint.ts'
import { ROOT } from '../support/source.ts'

interface Job {
  readonly permissions?: Readonly<Record<string, string>>
  readonly steps: readonly { readonly uses?: string; readonly run?: string }[]
}

interface Workflow {
  readonly permissions: Readonly<Record<string, string>>
  readonly jobs: Readonly<Record<string, Job>>
}

const FOLDER = join(ROOT, '.github/workflows')
const texts = readdirSync(FOLDER).map(name => [name, readFileSync(join(FOLDER, name), 'utf8')] as const)
const workflows = new Map(texts.map(([name, text]) => [name, parse(text) as Workflow]))
const actionlint = await findActionlint()

describe('the workflows', () => {
  it.runIf(actionlint.found)(
    `pass actionlint${actionlint.found ? '' : ` (skipped: ${actionlint.why})`}`,
    async () => {
      if (!actionlint.found) return
      const words = ['-no-color', '-shellcheck=', '-pyflakes=', ...texts.map(([name]) => join(FOLDER, name))]
      const { stdout } = await promisify(execFile)(actionlint.binary, words).catch(error => error)
      expect(stdout).toBe('')
    },
  )

  it('name each action by its commit, with the version beside it', () => {
    const uses = texts.flatMap(([, text]) => text.match(/uses: .*/g) ?? [])
    expect(uses.length).toBeGreaterThan(5)
    expect(uses.filter(line => !/^uses: [\w-]+\/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$/.test(line))).toEqual(
      [],
    )
    // The same action has the same commit everywhere, so that an update misses none.
    expect(new Set(uses).size).toBe(new Set(uses.map(line => line.split('@')[0])).size)
  })

  it('have no rights but those that a job asks for', () => {
    const granted = [...workflows].map(([name, { permissions, jobs }]) => [
      name,
      permissions,
      ...Object.entries(jobs).flatMap(([job, { permissions: own }]) => (own === undefined ? [] : [job, own])),
    ])
    expect(granted).toEqual([
      ['attack.yml', { contents: 'read' }],
      [
        'publish.yml',
        {},
        ...['build', { contents: 'read' }],
        ...['publish', { 'id-token': 'write' }],
        ...['attach', { contents: 'write' }],
      ],
      ['test.yml', { contents: 'read' }],
    ])
  })

  it('run no code of a dependency in a job that can publish or write', () => {
    const { publish, attach } = workflows.get('publish.yml')!.jobs
    const commands = [publish!, attach!].flatMap(({ steps }) => steps.flatMap(({ run }) => run ?? []))
    expect(commands).toEqual([
      'npm publish --provenance --access public ./lazaret-*.tgz',
      'gh release upload "$TAG" lazaret.cdx.json lazaret-*.tgz --repo "$REPOSITORY"',
    ])
  })

  it('put no text of an event into a command, where it could be code', () => {
    const commands = [...workflows.values()].flatMap(({ jobs }) =>
      Object.values(jobs).flatMap(({ steps }) => steps.flatMap(({ run }) => run ?? [])),
    )
    expect(commands.filter(command => command.includes('${{'))).toEqual([])
  })

  it('test on every supported line of Node', () => {
    const { strategy } = workflows.get('test.yml')!.jobs['test'] as Job & {
      strategy: { matrix: { node: readonly string[] } }
    }
    expect(strategy.matrix.node).toEqual(['22', '24'])
  })

  it('start only scripts of the package', () => {
    const { scripts } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'))
    const started = texts.flatMap(([, text]) =>
      [...text.matchAll(/npm run (?:--silent )?([a-z:]+)/g)].map(([, name]) => name!),
    )
    expect(started).toContain('sbom')
    expect(started.filter(name => !(name in scripts))).toEqual([])
  })
})
