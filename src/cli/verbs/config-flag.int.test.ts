import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { freePorts } from '../../../test/services/free-ports.ts'
import { cliWorld } from '../../../test/support/cli.ts'
import { systemClock } from '../../ports/clock.ts'
import { COMMANDS } from '../commands.ts'

let folder: string
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'lazaret-config-'))
})
afterEach(() => rm(folder, { recursive: true }))

/** Runs a command with this config, under a name that is not the default one. */
async function withConfig(yaml: string, ...argv: string[]) {
  await writeFile(join(folder, 'other.yaml'), yaml)
  const io = { clock: systemClock, env: {} }
  return cliWorld(folder).lazaretWith(io, ...argv, '--config', 'other.yaml')
}

describe('--config', () => {
  it('F8: every command takes it, so that an alias can have it; the schema is the same for every config', () => {
    const without = COMMANDS.filter(({ flags }) => !('config' in flags)).map(({ name }) => name)
    expect(without).toEqual(['config schema'])
  })

  it('F8: rabbitmq uses the RabbitMQ URL of the config', async () => {
    const [port] = await freePorts(1)
    const url = `amqp://guest:secret@127.0.0.1:${port}`
    const broker = `brokers: { rabbit: { url: '${url}' }, redis: { url: 'redis://127.0.0.1' } }`
    const { code, err } = await withConfig(broker, 'rabbitmq', 'status', 'orders')
    expect(code).toBe(1)
    expect(err).toContain(`127.0.0.1:${port}`)
    expect(err).not.toContain('secret')
    const two = `brokers: { a: { url: '${url}' }, b: { url: 'amqp://127.0.0.1:1' } }`
    expect(await withConfig(two, 'rabbitmq', 'status', 'orders')).toMatchObject({
      code: 2,
      err: expect.stringContaining('other.yaml has 2 RabbitMQ URLs; choose one with --url'),
    })
  })

  it('F8: the demo listens at the address of the config', async () => {
    const [port] = await freePorts(1)
    const taken = createServer().listen(port, '127.0.0.1')
    await once(taken, 'listening')
    try {
      const { code, err } = await withConfig(`server: { port: ${port} }`, 'demo', '--store', 'memory:')
      expect([code, err]).toEqual([1, expect.stringContaining(`port ${port} of 127.0.0.1 is in use`)])
    } finally {
      taken.close()
    }
  })

  it('F8: completion takes it', async () => {
    const { code, out } = await withConfig('', 'completion', 'bash')
    expect([code, out]).toEqual([0, expect.stringContaining('_lazaret')])
  })
})
