import { exponential } from '../../core/retry/exponential.ts'
import type { ShopHandler } from '../relocate-stacks.ts'
import { EmailRequested } from './contracts.ts'
import type { MailService } from './services/mail-service.ts'

/** Confirms orders. The status 422 means that the provider understood and refused the request, so Lazaret does not retry. */
export function emails(mail: MailService): ShopHandler<EmailRequested> {
  return {
    channel: 'emails',
    name: 'send-email',
    release: '1.12.3',
    schema: EmailRequested,
    retry: { attempts: 5, backoff: exponential({ baseMs: 1_000, maxMs: 60_000 }) },
    handle: ({ payload }, { signal }) => mail.send(payload, signal),
  }
}
