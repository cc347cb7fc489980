import { exponential } from '../../core/retry/exponential.ts'
import type { ShopHandler } from '../relocate-stacks.ts'
import { EmailRequested } from './contracts.ts'
import type { MailService } from './services/mail-service.ts'

/** Confirms orders. A provider that answers 422 has understood and refused: that status alone says not to retry. */
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
