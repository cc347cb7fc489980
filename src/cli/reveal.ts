import { createMasks } from '../core/dead-letter/masks.ts'
import type { AuditEntry } from '../ports/audit.ts'
import type { Session } from './session.ts'

/** Hides nothing. */
export const NO_MASKS = createMasks({ defaults: false })

/** Written down before anything is shown: who looks leaves a trace even if the look is cut short. */
export async function revealing(
  { store, io, by }: Session,
  what: Pick<AuditEntry, 'target' | 'detail'>,
): Promise<void> {
  await store.audit.append({ at: io.clock.now(), by, action: 'payload.reveal', ...what })
}
