import { changingTests } from './dead-letters/changing.ts'
import { deletingTests } from './dead-letters/deleting.ts'
import { listingTests } from './dead-letters/listing.ts'
import { capacityTests, letterDurabilityTests, sendingTests } from './dead-letters/sending.ts'
import { sortingTests } from './dead-letters/sorting.ts'
import type { DeadLetterStoreConformance } from './dead-letters/suite.ts'
import { unreadableTests } from './dead-letters/unreadable.ts'

/** Every sentence of the dead-letter store's contract, as tests. */
export function deadLetterStoreConformance(suite: DeadLetterStoreConformance): void {
  sendingTests(suite)
  capacityTests(suite)
  listingTests(suite)
  sortingTests(suite)
  changingTests(suite)
  deletingTests(suite)
  unreadableTests(suite)
  letterDurabilityTests(suite)
}
