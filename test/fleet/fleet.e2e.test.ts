import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { Instance } from '../../src/ports/fleet.ts'
import { runScript, type Started, startScript } from '../support/lazaret-process.ts'
import { ROOT } from '../support/source.ts'

let folder: string
const services: Started[] = []

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'lazaret-fleet-'))
})
afterEach(async () => {
  for (const service of services.splice(0)) {
    try {
      service.signal('SIGKILL')
    } catch {
      // It has ended.
    }
    await service.ended
  }
  await rm(folder, { recursive: true })
})

/** Another process of the service. */
async function start(version: string): Promise<Started> {
  const script = `exec "${process.execPath}" --no-warnings "${join(ROOT, 'test/fleet/service.ts')}" shop.db ${version}`
  const service = startScript(script, folder)
  services.push(service)
  await service.says('joined ')
  return service
}

const lazaret = (words: string) => runScript(`lazaret fleet ${words} --store sqlite:./shop.db`, folder)

async function list(): Promise<Instance[]> {
  const { out } = await lazaret('list --json')
  return out
    .split('\n')
    .filter(line => line !== '')
    .map(line => JSON.parse(line) as Instance)
}

/** Lists until the condition holds. A report is due every 3 s. */
async function listUntil(isSo: (instances: readonly Instance[]) => boolean): Promise<readonly Instance[]> {
  for (;;) {
    const instances = await list()
    if (isSo(instances)) return instances
  }
}

const statesOf = (instances: readonly Instance[]) =>
  instances.map(({ report, state }) => `${report.version} ${state}`).sort()

describe('a fleet of real processes', () => {
  it('B17: the command line pauses and resumes a channel in every process, once', async () => {
    const [first, second] = [await start('1.0'), await start('1.1')]
    await listUntil(all => all.filter(({ state }) => state === 'alive').length === 2)
    const paused = await lazaret("pause --channel orders --wait 60s --reason 'a release'")
    expect(paused).toMatchObject({ code: 0, err: '' })
    expect(paused.out.match(/: done$/gm)).toHaveLength(2)
    await Promise.all([first.says('paused'), second.says('paused')])
    await listUntil(all => all.every(({ report }) => report.consumers[0]?.paused.includes('manual')))
    expect(await lazaret('resume --channel orders --wait 60s')).toMatchObject({ code: 0 })
    await Promise.all([first.says('resumed'), second.says('resumed')])
    first.signal('SIGTERM')
    expect((await first.ended).out.match(/paused/g)).toHaveLength(1)
  })

  it('B17: a killed process is gone, one that ends in order has left, and the other goes on', async () => {
    const [killed, ended] = [await start('1.0'), await start('1.1')]
    await start('1.2')
    await listUntil(all => all.length === 3)
    killed.signal('SIGKILL')
    ended.signal('SIGTERM')
    expect((await ended.ended).code).toBe(0)
    const expected = ['1.0 gone', '1.1 left', '1.2 alive']
    await listUntil(all => statesOf(all).join() === expected.join())
    expect(await lazaret('breaker --to open --channel orders --wait 60s')).toMatchObject({
      code: 0,
      out: expect.stringMatching(/^shop \S+ on .*: done\n$/),
    })
  })
})
