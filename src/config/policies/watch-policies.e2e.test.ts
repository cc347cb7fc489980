import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { LazaretError } from '../../core/failure/errors.ts'
import { resilient } from '../../runtime/resilient/resilient.ts'
import { loadPolicies } from './load-policies.ts'
import type { PolicyReload } from './policies.ts'

let folder: string
let path: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'lazaret-watch-'))
  path = join(folder, 'lazaret.yaml')
})
afterEach(() => rmSync(folder, { recursive: true }))

/** News in the order in which they come, to be awaited one by one. */
class News<T> {
  readonly #come: T[] = []
  #awaited: ((news: T) => void) | undefined

  readonly tell = (news: T): void => {
    if (this.#awaited === undefined) this.#come.push(news)
    else this.#awaited(news)
    this.#awaited = undefined
  }

  next(): Promise<T> {
    const first = this.#come.shift()
    if (first !== undefined) return Promise.resolve(first)
    return new Promise(resolve => {
      this.#awaited = resolve
    })
  }

  get count(): number {
    return this.#come.length
  }
}

function attempts(count: number): string {
  return `policies: { calls: { fetch: { retry: { attempts: ${count} } } } }`
}

describe('a watch on policies', () => {
  it('R1: applies a file that was written or replaced, reports one with faults once, and stops with close()', async () => {
    writeFileSync(path, attempts(2))
    const policies = loadPolicies(path, { env: {} })
    const call = resilient(async () => 'done', policies.call('fetch'))
    const reloads = new News<PolicyReload>()
    const errors = new News<LazaretError>()
    const watch = policies.watch({ onReload: reloads.tell, onError: errors.tell })
    writeFileSync(path, attempts(3))
    expect(await reloads.next()).toEqual({ applied: ['calls.fetch.retry'], needsRestart: [] })
    expect(policies.call('fetch').retry).toEqual({ attempts: 3 })

    writeFileSync(path, attempts(0))
    expect(await errors.next()).toMatchObject({
      code: 'LAZARET_CONFIG_INVALID',
      message: `${path}:1: policies.calls.fetch.retry.attempts: got 0; give a whole number of at least 1`,
    })
    expect(policies.call('fetch').retry).toEqual({ attempts: 3 })

    writeFileSync(join(folder, 'next.yaml'), attempts(5))
    renameSync(join(folder, 'next.yaml'), path)
    expect(await reloads.next()).toMatchObject({ applied: ['calls.fetch.retry'] })
    expect(policies.call('fetch').retry).toEqual({ attempts: 5 })

    watch.close()
    watch.close()
    writeFileSync(path, attempts(6))
    // Another watch sees the change, so the closed one would have seen it too.
    const later = loadPolicies(path, { env: {} })
    const seen = new News<PolicyReload>()
    const other = later.watch({ onReload: seen.tell })
    writeFileSync(path, attempts(7))
    await seen.next()
    other.close()
    expect([reloads.count, errors.count]).toEqual([0, 0])
    expect(policies.call('fetch').retry).toEqual({ attempts: 5 })
    expect(await call()).toBe('done')
  })

  it('R1: a listener that throws does not end the watch', async () => {
    writeFileSync(path, attempts(2))
    const policies = loadPolicies(path, { env: {} })
    const reloads = new News<PolicyReload>()
    const watch = policies.watch({
      onReload: reload => {
        reloads.tell(reload)
        throw new Error('a mistake')
      },
    })
    for (const count of [3, 4]) {
      writeFileSync(path, attempts(count))
      await reloads.next()
    }
    expect(policies.call('fetch').retry).toEqual({ attempts: 4 })
    watch.close()
  })
})

const SERVICE = `
import { loadPolicies, resilient, TransientError } from '${new URL('../../index.ts', import.meta.url).href}'
const policies = loadPolicies(process.argv[2], { env: {} })
let attempts = 0
const call = resilient(() => { attempts++; throw new TransientError('No answer.') }, policies.call('fetch'))
const tell = news => process.stdout.write(JSON.stringify(news) + '\\n')
const attemptsNow = async () => { attempts = 0; await call().catch(() => {}); return attempts }
const watch = policies.watch({
  file: false,
  signal: 'SIGHUP',
  onReload: async reload => tell({ ...reload, attempts: await attemptsNow() }),
  onError: async error => tell({ error: error.message, attempts: await attemptsNow() }),
})
process.once('SIGTERM', () => { watch.close(); tell({ listeners: process.listenerCount('SIGHUP') }); clearInterval(timer) })
const timer = setInterval(() => {}, 1000)
tell({ attempts: await attemptsNow() })
`

function fetchPolicy(count: number): string {
  return `policies: { calls: { fetch: { retry: { attempts: ${count}, backoff: { kind: fixed, delay: 0ms } } } } }`
}

describe('a service process', () => {
  it('R1: reloads its policies on SIGHUP, keeps them when the file has faults, and ends with its watch', async () => {
    writeFileSync(path, fetchPolicy(1))
    const script = join(folder, 'service.mjs')
    writeFileSync(script, SERVICE)
    const service: ChildProcess = spawn(process.execPath, [script, path], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    const ended = new Promise(resolve => service.once('exit', (code, signal) => resolve(code ?? signal)))
    const news = new News<unknown>()
    createInterface({ input: service.stdout! }).on('line', line => news.tell(JSON.parse(line)))
    try {
      expect(await news.next()).toEqual({ attempts: 1 })
      writeFileSync(path, fetchPolicy(3))
      service.kill('SIGHUP')
      expect(await news.next()).toEqual({ applied: ['calls.fetch.retry'], needsRestart: [], attempts: 3 })
      writeFileSync(path, fetchPolicy(0))
      service.kill('SIGHUP')
      expect(await news.next()).toMatchObject({ error: expect.stringContaining('got 0'), attempts: 3 })
      service.kill('SIGTERM')
      expect(await news.next()).toEqual({ listeners: 0 })
      expect(await ended).toBe(0)
    } finally {
      service.kill('SIGKILL')
    }
  })
})

const WITHOUT_A_NAME = `
import { rmSync } from 'node:fs'
import { loadPolicies } from '${new URL('../../index.ts', import.meta.url).href}'
const policies = loadPolicies(undefined, { env: {} })
const attempts = () => {
  try { policies.reload() } catch (error) { return error.message }
  return policies.call('fetch').retry?.attempts
}
process.chdir('/')
const elsewhere = attempts()
rmSync(process.argv[2])
process.stdout.write(JSON.stringify([elsewhere, attempts()]))
`

describe('policies without the name of a file', () => {
  it('R1: are read again where they were found first, and a deleted file is a fault', () => {
    writeFileSync(path, fetchPolicy(3))
    const script = join(folder, 'service.mjs')
    writeFileSync(script, WITHOUT_A_NAME)
    const told = execFileSync(process.execPath, [script, path], { cwd: folder, encoding: 'utf8' })
    expect(JSON.parse(told)).toEqual([
      3,
      'lazaret.yaml: config file not found; give the path of an existing file',
    ])
  })
})
