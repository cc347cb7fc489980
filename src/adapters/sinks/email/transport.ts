import { loadClient } from '../../../adapter-kit/load-client.ts'

/** A mail as nodemailer takes it. */
export interface Mail {
  readonly from: string
  readonly to: readonly string[]
  readonly subject: string
  readonly text: string
  readonly html: string
  readonly messageId: string
  readonly inReplyTo?: string | undefined
  readonly references?: string | undefined
  readonly date: Date
  readonly priority: 'high' | 'normal'
  readonly headers: Readonly<Record<string, string>>
}

/** The methods of a nodemailer transporter that the sink uses. */
export interface MailTransport {
  // biome-ignore lint/suspicious/noExplicitAny: the types of mails and answers vary with nodemailer's version and transport
  sendMail(mail: any): Promise<any>
  verify?(): Promise<unknown>
  close?(): void
}

interface NodemailerModule {
  readonly createTransport?: (options: object) => MailTransport
  readonly default?: { readonly createTransport: (options: object) => MailTransport }
}

/** The time after which an idle connection closes. Alerts come in bursts, and between them no connection is needed. */
const IDLE_MS = 5_000

/** Loaded when the first mail is sent: importing only types or options needs no client. */
export async function openTransport(url: URL, timeoutMs: number): Promise<MailTransport> {
  // An optional peer whose own types may be missing: NodemailerModule names the part that is used.
  const module = (await loadClient('nodemailer', () => import('nodemailer'))) as unknown as NodemailerModule
  const createTransport = module.createTransport ?? module.default!.createTransport
  return createTransport({
    url: url.href,
    // Logging in costs more than the mail. Two: one that hangs must not hold up the next.
    pool: true,
    maxConnections: 2,
    idleTimeout: IDLE_MS,
    connectionTimeout: timeoutMs,
    greetingTimeout: timeoutMs,
    socketTimeout: timeoutMs,
    // The content of an event must never attach a file or a page.
    disableFileAccess: true,
    disableUrlAccess: true,
  })
}
