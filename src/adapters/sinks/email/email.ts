import { LazaretError } from '../../../core/failure/errors.ts'
import { untilAborted } from '../../../ports/clock.ts'
import type { Sink } from '../../../ports/sink.ts'
import type { Piece } from '../sending/delivery.ts'
import { Delivery } from '../sending/delivery.ts'
import { masking } from '../sending/secrets.ts'
import { decoded } from '../sending/target.ts'
import { mailError } from './errors.ts'
import { mailOf } from './mail.ts'
import { type EmailOptions, resolveEmail } from './options.ts'
import { type Mail, type MailTransport, openTransport } from './transport.ts'

interface MailPiece extends Piece {
  readonly mail: Mail
}

/** Sends each event as a mail, through a mail server or a transport of nodemailer. */
export function email(options: EmailOptions): Sink {
  const settings = resolveEmail(options)
  const { url, timeoutMs } = settings
  const subject = url === undefined ? 'email' : `email ${url.protocol}//${url.host}`
  const mask = masking(url === undefined ? [] : [url.password, decoded(url.password)])
  let opening: Promise<MailTransport> | undefined
  const opened = () => {
    if (url === undefined) return Promise.resolve(settings.transport!)
    opening ??= openTransport(url, timeoutMs).catch(error => {
      opening = undefined
      throw error
    })
    return opening
  }

  /** A transport does not support signals: after an abort, its own time limits end the send. */
  async function attempt<T>(
    work: (transport: MailTransport) => Promise<T>,
    signal: AbortSignal,
  ): Promise<void> {
    signal.throwIfAborted()
    try {
      await untilAborted(work(await opened()), signal)
    } catch (error) {
      signal.throwIfAborted()
      throw error instanceof LazaretError ? error : mailError(subject, error, mask)
    }
  }

  const delivery = new Delivery<MailPiece>({
    subject,
    shape: { maxCount: 1, maxBytes: undefined },
    pieceOf(event, index) {
      const mail = mailOf(event, settings)
      return { index, size: mail.text.length + mail.html.length, mail }
    },
    async send([piece], signal) {
      if (piece !== undefined) await attempt(transport => transport.sendMail(piece.mail), signal)
    },
  })

  return {
    batch: { maxCount: 1 },
    write: (batch, { signal }) => delivery.write(batch, signal),
    probe: ({ signal }) => attempt(async transport => transport.verify?.(), signal),
    async close() {
      const own = opening
      opening = undefined
      if (own !== undefined) await own.then(transport => transport.close?.()).catch(() => {})
    },
  }
}
