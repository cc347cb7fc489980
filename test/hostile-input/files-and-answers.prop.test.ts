import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { letterCursor, resolveLetterFilter } from '../../src/adapter-kit/query/letter-query.ts'
import { memoryStore } from '../../src/adapters/memory/store.ts'
import { type BulkPiece, refusedItems } from '../../src/adapters/sinks/elasticsearch/bulk.ts'
import { readPartialSuccess } from '../../src/adapters/sinks/otlp/partial-success.ts'
import { importLines, linesOf } from '../../src/cli/transfer.ts'
import { parseConfig } from '../../src/config/config.ts'
import { loadPolicies } from '../../src/config/policies/load-policies.ts'
import type { OpenAlert } from '../../src/core/alert/alert.ts'
import { keptAlertsText, readKeptAlerts } from '../../src/core/alert/kept-alerts.ts'
import { encodeLetter } from '../../src/core/dead-letter/json.ts'
import { trackInputOf } from '../../src/integrations/pino/line.ts'
import { pageOfInstances } from '../../src/operations/list-instances.ts'
import { LETTER_SORTS } from '../../src/ports/dead-letters.ts'
import { createSealing } from '../../src/runtime/sealing/sealing.ts'
import { CookieSealer } from '../../src/server/auth/cookie-sealer.ts'
import { createFactory } from '../../src/testing/factories.ts'
import { FakeClock } from '../../src/testing/fake-clock.ts'
import { cases, damagedBytes, damagedJson, hostileBytes, hostileName, hostileText } from './arbitraries.ts'
import { readsOrRefuses, readsOrRefusesLater } from './reads-or-refuses.ts'

const make = createFactory({ clock: new FakeClock() })

describe('the answer of a receiver', () => {
  const pieces: BulkPiece[] = [0, 1].map(index => ({ index, text: '', size: 0 }))
  const item = { create: { status: 400, error: { type: 'x', reason: 'y' } } }
  const bulk = { errors: true, items: [item, { create: { status: 201 } }] }

  it('E17: of Elasticsearch names refused items, or is not an answer', () => {
    const texts = fc.oneof(
      hostileText,
      damagedJson(bulk).map(value => JSON.stringify(value) ?? ''),
    )
    fc.assert(
      fc.property(texts, text => {
        const refused = refusedItems(text, pieces, 'elasticsearch')
        for (const { index, error } of refused ?? []) {
          expect([0, 1]).toContain(index)
          expect(error).toBeInstanceOf(Error)
        }
      }),
      cases(300),
    )
    expect(refusedItems(JSON.stringify(bulk), pieces, 'elasticsearch')).toHaveLength(1)
  })

  it('E17: of an OTLP receiver says how many records it refused, or nothing', () => {
    const json = Buffer.from('{"partialSuccess":{"rejectedLogRecords":"3","errorMessage":"no"}}')
    const protobuf = Buffer.from([10, 6, 8, 3, 18, 2, 110, 111])
    expect(readPartialSuccess('json', json)).toEqual({ rejected: 3, message: 'no' })
    expect(readPartialSuccess('protobuf', protobuf)).toEqual({ rejected: 3, message: 'no' })
    fc.assert(
      fc.property(damagedBytes(json), damagedBytes(protobuf), (text, bytes) => {
        expect(readPartialSuccess('json', text).rejected).toBeGreaterThanOrEqual(0)
        expect(readPartialSuccess('protobuf', bytes).rejected).toBeGreaterThanOrEqual(0)
      }),
      cases(300),
    )
  })
})

describe('a file that was kept or given', () => {
  it('F8: a line that is not a letter is refused with its number, and its neighbours are imported', async () => {
    const [before, middle, after] = [make.letter(), make.letter(), make.letter()]
    const damaged = fc.oneof(
      damagedJson(JSON.parse(encodeLetter(middle))).map(value => Buffer.from(JSON.stringify(value) ?? '')),
      damagedBytes(Buffer.from(encodeLetter(middle))),
      hostileBytes,
    )
    await fc.assert(
      fc.asyncProperty(damaged, fc.integer({ min: 1, max: 5_000 }), async (bytes, chunk) => {
        const store = memoryStore({ clock: new FakeClock() })
        const file = Buffer.concat([
          ...[Buffer.from(encodeLetter(before)), NEWLINE, bytes, NEWLINE],
          ...[Buffer.from(encodeLetter(after)), NEWLINE],
        ])
        const refused: string[] = []
        const { imported } = await importLines(
          store.deadLetters,
          linesOf(chunksOf(file, chunk)),
          async (_line, problem) => void refused.push(problem),
          async () => {},
        )
        const found = await Promise.all([before, after].map(({ id }) => store.deadLetters.get(id)))
        expect(found.map(letter => letter?.id)).toEqual([before.id, after.id])
        expect(imported).toBeGreaterThanOrEqual(2)
        for (const problem of refused) expect(problem).toMatch(/\w{3,}/)
      }),
      cases(40),
    )
  })

  it('F7: a config with damaged bytes is read or refused with the place', () => {
    const yaml = `store: sqlite:\${DATA:-.}/lazaret.db\nmasks: { paths: [payload.card] }\nserver:\n  port: 4600\n  tokens:
    - { name: ann, role: admin, sha256: ${'a'.repeat(64)} }\nreplay: { stages: [1, 10, rest], maxAge: 24h }\n`
    readsOrRefuses(() => parseConfig(yaml, 'lazaret.yaml', {}))
    fc.assert(
      fc.property(damagedBytes(Buffer.from(yaml)), bytes =>
        readsOrRefuses(() => parseConfig(bytes.toString(), 'lazaret.yaml', {})),
      ),
      cases(40),
    )
  })

  it('R1: policies of a file and of the environment are read or refused', () => {
    const policies = {
      retry: { attempts: 3, backoff: { type: 'fixed', delay: '1s' } },
      channels: { orders: { timeout: '5s', breaker: { failures: 2 } } },
    }
    const names = fc.constantFrom(
      'RETRY__ATTEMPTS',
      'CHANNELS__ORDERS__TIMEOUT',
      '__PROTO____X',
      'CHANNELS__',
      '',
    )
    fc.assert(
      fc.property(damagedJson(policies).filter(isObject), names, hostileText, (value, name, text) => {
        const env = { [`LAZARET_POLICIES__${name}`]: text }
        readsOrRefuses(() => loadPolicies(value, { env }))
      }),
      cases(60),
    )
  })

  it('S7: of the alerts that were kept, each that can be read is read', () => {
    const alert: OpenAlert = {
      ...{ key: 'k', kind: 'breaker_opened', severity: 'error', since: 1, lastSeenAt: 1, factsAt: 1 },
      ...{ toldAt: 1, count: 1, untold: 0, facts: { title: 't', summary: 's' }, phase: { is: 'told' } },
    } as never
    const good = JSON.parse(keptAlertsText([alert]))
    expect(readKeptAlerts(JSON.stringify(good))).toHaveLength(1)
    fc.assert(
      fc.property(damagedJson(good.alerts[0]), hostileText, (damaged, text) => {
        const kept = readKeptAlerts(JSON.stringify({ v: 1, alerts: [damaged, good.alerts[0]] }))
        expect(kept).toContainEqual(good.alerts[0])
        readKeptAlerts(text)
      }),
    )
  })

  it('B13: a sealed letter or event that was changed is opened or refused', () => {
    const sealing = createSealing({ current: 'k', keys: { k: Buffer.alloc(32, 1) } })
    const letter = make.letter({ event: make.event({ payload: { password: 'x' } }) })
    const sealed = sealing.letters.encode(letter)
    const sealedEvent = sealing.events.encode(letter.event)
    fc.assert(
      fc.property(
        damagedJson(JSON.parse(sealed)),
        damagedJson(JSON.parse(sealedEvent)),
        (inLetter, inEvent) => {
          readsOrRefuses(() => sealing.letters.decode(JSON.stringify(inLetter) ?? 'null'))
          readsOrRefuses(() => sealing.events.decode(JSON.stringify(inEvent) ?? 'null'))
        },
      ),
      cases(100),
    )
    const { texts } = sealing.letters
    fc.assert(fc.property(hostileText, text => readsOrRefuses(() => texts?.decode(`sealed:1.k.${text}`))))
  })

  it('E17: a line of pino becomes an event, whatever it is', () => {
    const line = {
      level: 30,
      time: 1,
      msg: 'x',
      name: 'shop',
      trace_id: 'a'.repeat(32),
      span_id: 'b'.repeat(16),
    }
    const options = { type: 'log', typeField: 'event' }
    const texts = fc.oneof(
      hostileText,
      damagedJson(line).map(value => JSON.stringify(value) ?? ''),
    )
    fc.assert(fc.property(texts, text => void expect(trackInputOf(text, options).type).toMatch(/./)))
  })
})

describe('a position that a caller made up', () => {
  it('E9: in a list of letters is a place or is refused, although its mark is right', async () => {
    const store = memoryStore({ clock: new FakeClock() })
    await store.deadLetters.send(make.letter())
    const numbers = fc.oneof(fc.double(), fc.constantFrom(-1, 1e308, -0, 8.64e15))
    const position = fc.record({
      lastFailedAt: numbers,
      id: fc.oneof(hostileText, hostileName),
      value: fc.option(fc.oneof(hostileText, numbers), { nil: undefined }),
    })
    await fc.assert(
      fc.asyncProperty(position, fc.constantFrom(...LETTER_SORTS), async (place, sort) => {
        const order = { sort, isDescending: true }
        const cursor = letterCursor(place, resolveLetterFilter({}), order)
        await readsOrRefusesLater(() => store.deadLetters.list({ sort, order: 'desc', cursor }))
      }),
      cases(100),
    )
  })

  it('B17: in a list of processes is a place or is refused', () => {
    const cursor = fc.oneof(
      hostileText,
      hostileText.map(text => Buffer.from(text).toString('base64url')),
    )
    fc.assert(
      fc.property(cursor, text => readsOrRefuses(() => pageOfInstances([], {}, { limit: 5, cursor: text }))),
    )
  })

  it('F8: a cookie that was changed opens nothing', () => {
    const sealer = new CookieSealer(['s'.repeat(32)], 'https://ops.example')
    const valid = sealer.seal('session', { name: 'ann' })
    fc.assert(
      fc.property(fc.oneof(damagedBytes(Buffer.from(valid)).map(String), hostileText), text => {
        const isSame = Buffer.from(text, 'base64url').equals(Buffer.from(valid, 'base64url'))
        expect(sealer.open('session', text)).toEqual(isSame ? { name: 'ann' } : undefined)
      }),
      cases(100),
    )
  })
})

const NEWLINE = Buffer.from('\n')

/** A text would be the name of a file. */
function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null
}

async function* chunksOf(bytes: Buffer, size: number): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size)
}
