import { PassThrough, Writable } from 'node:stream'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { neverAborted, rejection } from '../../../../test/support/sink-writes.ts'
import { decodeEvent } from '../../../core/event/json.ts'
import { classify } from '../../../core/failure/classify.ts'
import { TestTiming } from '../../../testing/conformance/harness.ts'
import { sinkConformance } from '../../../testing/conformance/sink.ts'
import { createFactory } from '../../../testing/factories.ts'
import { type StdoutOptions, stdout } from './sink.ts'

const make = createFactory()
const timing = new TestTiming({})

/** A stream that remembers what was written to it, and can stop reading. */
function collector({ isTTY = false } = {}) {
  let text = ''
  let isStuck = false
  let goOn = () => {}
  const stream = new Writable({
    highWaterMark: 16,
    decodeStrings: false,
    write(chunk, _, done) {
      const take = () => {
        text += String(chunk)
        done()
      }
      if (isStuck) goOn = take
      else take()
    },
  })
  return {
    stream: Object.assign(stream, { isTTY }),
    text: () => text,
    stick: () => {
      isStuck = true
    },
    goOn: () => {
      isStuck = false
      goOn()
    },
  }
}

async function shown(
  options: StdoutOptions & { readonly isTTY?: boolean },
  ...events: ReturnType<typeof make.event>[]
) {
  const { isTTY = false, ...rest } = options
  const { stream, text } = collector({ isTTY })
  await stdout({ ...rest, stream }).write(events, neverAborted())
  return text()
}

afterEach(() => {
  vi.unstubAllEnvs()
})

describe('stdout sink', () => {
  sinkConformance({
    test: it,
    declares: { setFailing: false, hang: true, refuse: false },
    async setup() {
      const { stream, text, stick } = collector()
      return {
        sink: stdout({ stream }),
        received: async () =>
          text()
            .split('\n')
            .slice(0, -1)
            .map(line => decodeEvent(line).id),
        hang: stick,
      }
    },
  })

  it('E17: JSON lines where no terminal is, each event as it was', async () => {
    const events = [
      make.event({ payload: 'a\nb\u009b31m\u202e' }),
      make.event({ payload: new Uint8Array([7]) }),
    ]
    const text = await shown({}, ...events)
    expect(text.trimEnd().split('\n').map(decodeEvent)).toEqual(events)
    expect(text).not.toMatch(/[\u009b\u202e]/)
  })

  it('E17: a line for people on a terminal, in colour unless NO_COLOR says no', async () => {
    vi.stubEnv('NO_COLOR', '')
    const event = make.event({ key: 'k1', headers: { severity: 'ERROR' }, payload: { amount: 3 } })
    const plain = `${new Date(event.occurredAt).toISOString()} ERROR order.placed orders/k1 {"amount":3}\n`
    const coloured = await shown({ isTTY: true }, event)
    expect(coloured).toContain('\u001b[31mERROR\u001b[0m')
    vi.stubEnv('NO_COLOR', '1')
    expect(await shown({ isTTY: true }, event)).toBe(plain)
    expect(await shown({ isTTY: true, colour: 'always' }, event)).toBe(coloured)
    vi.stubEnv('NO_COLOR', undefined)
    expect(await shown({ format: 'pretty' }, event)).toBe(plain)
    expect(await shown({ isTTY: true, colour: 'never' }, event)).toBe(plain)
    expect(await shown({ isTTY: true, format: 'json' }, event)).toContain('"v":1')
  })

  it('E17: nothing in an event can command the terminal or turn a line around', async () => {
    const evil = '\u001b]0;owned\u0007\u009b2J\r\n\u202ecod\u2066\u200b\ufeff\u{e0041}\u2028'
    const event = make.event({ key: 'ok', payload: { [evil]: evil } })
    const text = await shown({ format: 'pretty' }, { ...event, type: evil, channel: evil, key: evil })
    expect(text.slice(0, -1)).toMatch(/^[\x20-\x7e]*$/)
    expect(text).toContain('\\u001b]0;owned\\u0007\\u009b2J')
    expect(text.endsWith('\n')).toBe(true)
  })

  it('E17: a reader that is slow is waited for, and nothing piles up behind it', async () => {
    const { stream, text, stick, goOn } = collector()
    const sink = stdout({ stream })
    const [first, second] = [make.event(), make.event()]
    stick()
    const stopped = new AbortController()
    const stuck = rejection(sink.write([first], { signal: stopped.signal }))
    await timing.eventually(() => stream.writableNeedDrain, 'the stream to be full')
    stopped.abort(new Error('time is over'))
    expect(String(await stuck)).toContain('time is over')
    const buffered = stream.writableLength
    const again = sink.write([first, second], neverAborted())
    await timing.quiet()
    expect(stream.writableLength).toBe(buffered)
    goOn()
    await again
    const ids = text()
      .split('\n')
      .slice(0, -1)
      .map(line => decodeEvent(line).id)
    expect(ids).toEqual([first.id, first.id, second.id])
    expect(stream.listenerCount('drain') + stream.listenerCount('close')).toBe(0)
  })

  it('E2: a reader that has gone does not come back: permanent, and the probe says so', async () => {
    const stream = new PassThrough()
    const sink = stdout({ stream })
    await sink.write([make.event()], neverAborted())
    stream.destroy(Object.assign(new Error('write EPIPE'), { code: 'EPIPE' }))
    const error = await rejection(sink.write([make.event()], neverAborted()))
    expect(classify(error)).toMatchObject({ retryable: false, category: 'integration' })
    expect(String(await rejection(sink.probe!(neverAborted())))).toContain('its reader has ended')
    await sink.close!()
  })

  it('F7: options are checked', () => {
    expect(() => stdout({ format: 'xml' } as unknown as StdoutOptions)).toThrow(
      "give one of 'auto', 'pretty', 'json'",
    )
  })
})
