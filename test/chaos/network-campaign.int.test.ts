import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { promisify } from 'node:util'
import { describe, expect, it } from 'vitest'
import { findNamespaces } from '../services/namespaces.ts'
import { findRedis } from '../services/redis.ts'
import { ROOT } from '../support/source.ts'
import { NAMESPACES } from './network/hosts.ts'

const run = promisify(execFile)
const [namespaces, redis] = [await findNamespaces(), await findRedis()]
const isOurs = namespaces.found && redis.found && redis.isPrivate
const reason = namespaces.found ? 'needs a private Redis' : namespaces.why
const why = isOurs ? '' : ` (skipped: ${reason})`

const COMMAND = ['--no-warnings', 'test/chaos/network/run.ts', 'redis', '--consumers', '2']

/** The short form of `npm run chaos:network`; docs/campaigns.md has the reports of the long ones. */
describe.runIf(isOurs)(`a campaign of faults on the network between hosts${why}`, () => {
  it('E21: answers vanish, a host dies behind a cut, connections are reset: each event is handled or dead', async () => {
    const kinds = 'receiving,dead-host,reset'
    const words = ['--events', '200', '--faults', '3', '--longest', '3', '--kinds', kinds]
    const { stdout } = await run(process.execPath, [...COMMAND, ...words], { cwd: ROOT })
    expect(stdout).toContain('| redis | 200 | 198 | 2 | 0 |')
  })

  it('E21: a campaign that is ended leaves no process, host or cable behind', async () => {
    const words = ['--events', '300', '--faults', '1', '--kinds', 'partition']
    const campaign = spawn(process.execPath, [...COMMAND, ...words], {
      cwd: ROOT,
      stdio: ['ignore', 'ignore', 'pipe'],
    })
    const ended = once(campaign, 'exit')
    await once(createInterface(campaign.stderr), 'line')
    campaign.kill('SIGTERM')
    expect(await ended).toEqual([null, 'SIGTERM'])
    const { stdout } = await run('ip', ['netns', 'list'])
    expect(stdout).not.toContain(`${NAMESPACES}${campaign.pid}`)
  })
})
