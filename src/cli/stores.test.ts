import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { checkEveryVerb, LINES, OpenStores, sortedLines } from '../../test/support/cli-stores.ts'
import { fileStore } from '../adapters/file/index.ts'
import { encodeLetter } from '../core/dead-letter/json.ts'
import { systemClock } from '../ports/clock.ts'
import { planReplay } from '../replay/plan.ts'
import { createFactory } from '../testing/factories.ts'

const STORES = ['memory:', 'file:./letters', 'sqlite:./lazaret.db']
const PAIRS = STORES.flatMap(from => STORES.map(to => [from, to.replace('./', './second-')] as const))

let folder: string
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'lazaret-stores-'))
})
afterEach(() => rm(folder, { recursive: true }))

const stores = new OpenStores()
afterEach(() => stores.close())

const on = (url: string) => stores.on(url, folder)

describe('letters move between stores', () => {
  it.each(PAIRS)('F8: from %s to %s unchanged', async (from, to) => {
    const [source, target] = [on(from), on(to)]
    expect(await source(LINES.join('\n'), 'dlq', 'import')).toMatchObject({ code: 0, err: '' })
    const exported = await source('', 'dlq', 'export')
    expect(sortedLines(exported.out)).toEqual([...LINES].sort())
    expect(await target(exported.out, 'dlq', 'import')).toMatchObject({ code: 0, err: '' })
    expect((await target('', 'dlq', 'export')).out).toBe(exported.out)
  })
})

describe.each(STORES)('on %s', url => {
  it('F8: every verb that needs no consumer does its work', () =>
    checkEveryVerb(on(url), !url.startsWith('file:')))
})

describe('replay start', () => {
  it('F8: a store without a broker says where to send the letters', async () => {
    const lazaret = on('file:./letters')
    await lazaret(LINES.join('\n'), 'dlq', 'import')
    const refused = await lazaret('', 'replay', 'plan', '--reason', 'r')
    expect(refused).toMatchObject({ code: 1, out: '' })
    expect(refused.err).toContain('stores letters but cannot deliver events')
    // As the service of the consumer plans it, which can send the letters.
    const service = fileStore({ dir: join(folder, 'letters') })
    const request = { reason: 'r', by: 'ann', maxAgeMs: 1e15 }
    const { id } = await planReplay(service, request, { clock: systemClock, newId: () => 'r-1' })
    const { code, err } = await lazaret('', 'replay', 'start', id)
    expect(code).toBe(1)
    expect(err).toContain('stores letters but cannot deliver events')
    expect((await service.replays.get(id))?.state).toBe('approved')
    await service.close()
  })
})

describe('replay plan', () => {
  it.each([
    ['', { code: 1, err: expect.stringContaining("it came from broker 'shop'") }],
    ['brokerName: shop\n', { code: 0, err: '' }],
  ])('B18: the config tells what services call the broker of the store: %j', async (config, answer) => {
    await writeFile(join(folder, 'lazaret.yaml'), config)
    const lazaret = on('sqlite:./lazaret.db')
    const letter = createFactory().letter({ origin: { broker: 'shop', queue: 'orders' } })
    await lazaret(encodeLetter(letter), 'dlq', 'import')
    const flags = ['--reason', 'r', '--max-age', '9999d', '--json']
    expect(await lazaret('', 'replay', 'plan', ...flags)).toMatchObject(answer)
  })
})

describe.each(['file:./letters', 'sqlite:./lazaret.db'])('with a key in the config, on %s', url => {
  const key = (fill: number) => Buffer.alloc(32, fill).toString('base64')
  const config = (...ids: readonly string[]) =>
    writeFile(
      join(folder, 'lazaret.yaml'),
      `sealing: { current: ${ids[0]}, keys: { ${ids.map(id => `${id}: "${key(id.charCodeAt(1))}"`).join(', ')} } }`,
    )

  it('F7: stored letters are sealed, shown and exported letters are not, and a missing key is one line', async () => {
    await config('k1')
    const lazaret = on(url)
    const secret = encodeLetter(
      createFactory().letter({ event: createFactory().event({ payload: 'in the clear' }) }),
    )
    expect(await lazaret(secret, 'dlq', 'import')).toMatchObject({ code: 0 })
    expect((await lazaret('', 'dlq', 'export')).out).toBe(`${secret}\n`)
    await stores.close()
    expect(await bytesBelow(folder)).not.toContain('in the clear')

    await config('k2', 'k1')
    expect((await on(url)('', 'dlq', 'export')).out).toBe(`${secret}\n`)
    await config('k2')
    const { code, out, err } = await on(url)('', 'dlq', 'list')
    expect({ code, out }).toEqual({ code: 1, out: '' })
    expect(err).toMatch(
      /^lazaret: event \S+ is sealed with key 'k1', which is not among the given keys; .*\n$/,
    )
  })
})

async function bytesBelow(path: string): Promise<string> {
  const files = await readdir(path, { recursive: true, withFileTypes: true })
  const texts = files
    .filter(file => file.isFile())
    .map(file => readFile(join(file.parentPath, file.name), 'latin1'))
  return (await Promise.all(texts)).join('')
}
