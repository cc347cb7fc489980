import nodemailer from 'nodemailer'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { type SmtpReceiver, smtpReceiver } from '../../../../test/receivers/smtp.ts'
import { alertEvent } from '../../../../test/support/alerts.ts'
import { failureOf, make, never } from '../../../../test/support/sinks.ts'
import { classify } from '../../../core/failure/classify.ts'
import type { Sink } from '../../../ports/sink.ts'
import { sinkConformance } from '../../../testing/conformance/sink.ts'
import { email } from './email.ts'

const ADDRESSES = { from: 'Shop alerts <alerts@shop.example>', to: ['ann@shop.example', 'bob@shop.example'] }

describe('email sink, conformance', () => {
  sinkConformance({
    test: it,
    declares: { setFailing: true, hang: true, refuse: false },
    // Each is a dialogue of its own with a real mail server.
    many: 25,
    setup: async () => {
      const receiver = await smtpReceiver()
      return {
        sink: email({ url: receiver.url, ...ADDRESSES }),
        received: async () => receiver.mails.map(({ headers }) => headers.get('message-id')!.slice(1, 37)),
        setFailing: isFailing => receiver.misbehave(isFailing ? { at: 'auth', code: 454 } : undefined),
        hang: () => receiver.misbehave('hang'),
        cleanup: receiver.close,
      }
    },
  })
})

describe('email sink', () => {
  let receiver: SmtpReceiver
  let sink: Sink
  beforeEach(async () => {
    receiver = await smtpReceiver()
    sink = email({ url: receiver.url, ...ADDRESSES })
  })
  afterEach(async () => {
    await sink.close?.()
    await receiver.close()
  })

  it('S7: an alert is a mail to everyone, as text and as HTML, and its mails are one thread', async () => {
    await sink.write([alertEvent()], never())
    await sink.write([alertEvent({ status: 'update' }), alertEvent({ status: 'resolved' })], never())
    const [firing, update, resolved] = receiver.mails
    expect(firing).toMatchObject({ from: 'alerts@shop.example', to: ADDRESSES.to })
    expect(firing?.headers.get('subject')).toBe(
      '[Lazaret] Firing: Dead letters in orders: Error: connect ECONNREFUSED',
    )
    expect(resolved?.headers.get('subject')).toContain('Resolved: ')
    const root = firing?.headers.get('message-id')
    expect(root).toMatch(/^<alert-[\da-f]{32}@shop\.example>$/)
    for (const mail of [update, resolved]) {
      expect(mail?.headers.get('references')).toBe(root)
      expect(mail?.headers.get('in-reply-to')).toBe(root)
      expect(mail?.headers.get('message-id')).not.toBe(root)
    }
    expect(firing?.raw).toContain('text/plain')
    expect(firing?.raw).toContain('text/html')
    expect(firing?.raw).toContain('https://lazaret.example/letters/letter-1')
  })

  it('S7: no text can write a header or a tag', async () => {
    const evil = 'x\r\nBcc: eve@evil.example\r\n\r\n<script>alert(1)</script>'
    await sink.write([alertEvent({ title: evil, summary: evil, key: evil })], never())
    await sink.write(
      [make.event({ type: 'order.placed', id: 'a<b>@c', payload: { message: evil } })],
      never(),
    )
    const [mail, other] = receiver.mails
    expect(mail?.headers.has('bcc')).toBe(false)
    expect(mail?.headers.get('subject')).toContain('Bcc: eve@evil.example')
    expect(mail?.to).toEqual(ADDRESSES.to)
    expect(mail?.raw.split('Content-Type: text/html')[1]).not.toContain('<script>')
    expect(other?.headers.get('message-id')).toBe('<a=3cb=3e=40c@shop.example>')
  })

  it.each([
    ['4xx', { at: 'data', code: 451 }, true, 'transient'],
    ['a full mailbox', { at: 'to', code: 452 }, true, 'transient'],
    ['no such mailbox', { at: 'to', code: 550 }, false, 'business'],
    ['a policy', { at: 'data', code: 554 }, false, 'integration'],
    ['a password that is not right', { at: 'auth', code: 535 }, false, 'integration'],
    ['a login that fails for now', { at: 'auth', code: 454 }, true, 'integration'],
  ] as const)('E2: %s', async (_, trouble, retryable, category) => {
    receiver.misbehave(trouble)
    const error = await failureOf(sink.write([make.event()], never()))
    expect(error).toMatchObject({ code: 'LAZARET_SINK_REFUSED', replyCode: trouble.code })
    expect(classify(error)).toMatchObject({ retryable, category })
    receiver.misbehave(undefined)
    expect(await sink.write([make.event()], never())).toBeUndefined()
  })

  it('E2: a server that is not there is tried again', async () => {
    const { url } = receiver
    await receiver.close()
    const away = email({ url, ...ADDRESSES })
    const error = await failureOf(away.write([make.event()], never()))
    expect(error).toMatchObject({ code: 'LAZARET_SINK_UNREACHABLE' })
    expect(classify(error)).toMatchObject({ retryable: true, category: 'transient' })
    receiver = await smtpReceiver()
  })

  it('S7: the password is in no error, whatever the server says', async () => {
    const url = receiver.url.replace(receiver.password, 'wrong-pass%40word')
    const stranger = email({ url, ...ADDRESSES })
    const error = await failureOf(stranger.write([make.event()], never()))
    expect(error.message).toContain('check the user and password')
    expect(JSON.stringify([error, error.message, error.stack, error.cause])).not.toMatch(/wrong-pass/)
    await stranger.close?.()
  })

  it('S7: a transport of the service does as well, and stays its own', async () => {
    const transport = nodemailer.createTransport(receiver.url)
    const own = email({ transport, ...ADDRESSES, to: 'ann@shop.example', subjectPrefix: '' })
    await own.probe?.(never())
    await own.write([alertEvent()], never())
    await own.close?.()
    expect(receiver.mails[0]?.headers.get('subject')).toMatch(/^Firing: /)
    await own.write([alertEvent()], never())
    expect(receiver.mails).toHaveLength(2)
  })

  it('F7: addresses and URLs that cannot be are refused at once, and no password is shown', () => {
    const faulty = {
      url: 'mail.example:hunter2',
      from: 'alerts@shop.example\r\nBcc: eve@evil.example',
      to: ['ann@shop.example, eve@evil.example'],
    }
    expect(() => email(faulty)).toThrow(/3 faults/)
    expect(() => email(faulty)).not.toThrow(/hunter2/)
    expect(() => email({ ...ADDRESSES })).toThrow('give either url or transport')
  })
})
