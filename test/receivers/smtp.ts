import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { SMTPServer } from 'smtp-server'

export interface ReceivedMail {
  readonly from: string
  readonly to: readonly string[]
  /** Unfolded, by their names in lower case. A header that is there twice is a fault. */
  readonly headers: ReadonlyMap<string, string>
  readonly raw: string
}

type Stage = 'auth' | 'from' | 'to' | 'data'

export interface SmtpReceiver {
  readonly url: string
  readonly password: string
  readonly mails: readonly ReceivedMail[]
  /** From now on answers so at this stage; undefined is well again. `hang` takes a mail and never answers. */
  misbehave(
    how: { readonly at: Stage; readonly code: number; readonly says?: string } | 'hang' | undefined,
  ): void
  close(): Promise<void>
}

const USER = 'alerts'
const PASSWORD = 'hunter2-hunter2'

/** A real mail server, `smtp-server` of the nodemailer project, that keeps what it is sent. */
export async function smtpReceiver(): Promise<SmtpReceiver> {
  const mails: ReceivedMail[] = []
  let trouble: Parameters<SmtpReceiver['misbehave']>[0]
  const at = (stage: Stage): Error | undefined => {
    if (trouble === undefined || trouble === 'hang' || trouble.at !== stage) return undefined
    return Object.assign(new Error(trouble.says ?? 'no'), { responseCode: trouble.code })
  }
  const server = new SMTPServer({
    authOptional: false,
    allowInsecureAuth: true,
    disabledCommands: ['STARTTLS'],
    disableReverseLookup: true,
    onAuth({ username, password }, _session, done) {
      const refusal = at('auth')
      if (refusal !== undefined) done(refusal)
      else if (username === USER && password === PASSWORD) done(null, { user: USER })
      else done(Object.assign(new Error(`wrong: ${password}`), { responseCode: 535 }))
    },
    onMailFrom: (_address, _session, done) => done(at('from')),
    onRcptTo: (_address, _session, done) => done(at('to')),
    onData(stream, { envelope }, done) {
      const chunks: Buffer[] = []
      stream.on('data', (chunk: Buffer) => chunks.push(chunk))
      stream.on('end', () => {
        if (trouble === 'hang') return
        const refusal = at('data')
        if (refusal !== undefined) {
          done(refusal)
          return
        }
        const raw = Buffer.concat(chunks).toString('utf8')
        const from = envelope.mailFrom === false ? '' : envelope.mailFrom.address
        mails.push({ from, to: envelope.rcptTo.map(({ address }) => address), headers: headersOf(raw), raw })
        done()
      })
    },
  })
  // Of connections that a test has cut.
  server.on('error', () => {})
  server.listen(0, '127.0.0.1')
  await once(server.server, 'listening')
  const { port } = server.server.address() as AddressInfo
  return {
    url: `smtp://${USER}:${PASSWORD}@127.0.0.1:${port}`,
    password: PASSWORD,
    mails,
    misbehave(how) {
      trouble = how
    },
    close: () => new Promise(resolve => server.close(resolve)),
  }
}

function headersOf(raw: string): ReadonlyMap<string, string> {
  const head = raw.slice(0, raw.indexOf('\r\n\r\n')).replace(/\r\n[ \t]+/g, ' ')
  const headers = new Map<string, string>()
  for (const line of head.split('\r\n')) {
    const colon = line.indexOf(':')
    const name = line.slice(0, colon).toLowerCase()
    if (colon < 1 || headers.has(name)) throw new Error(`not a header, or there twice: ${line}`)
    headers.set(name, line.slice(colon + 1).trim())
  }
  return headers
}
