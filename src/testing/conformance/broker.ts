import { closingTests, durabilityTests } from './broker/closing.ts'
import { countingTests, depthTests } from './broker/counting.ts'
import { deliveringTests, undecodableTests } from './broker/delivering.ts'
import { faultTests } from './broker/faults.ts'
import { orderingTests } from './broker/ordering.ts'
import { replayingTests } from './broker/replaying.ts'
import { delayTests, keptLetterTests, settlingTests } from './broker/settling.ts'
import type { BrokerConformance } from './broker/suite.ts'

/** Every sentence of the broker port's contract, as tests. */
export function brokerConformance(suite: BrokerConformance): void {
  deliveringTests(suite)
  undecodableTests(suite)
  settlingTests(suite)
  delayTests(suite)
  keptLetterTests(suite)
  countingTests(suite)
  depthTests(suite)
  orderingTests(suite)
  replayingTests(suite)
  closingTests(suite)
  durabilityTests(suite)
  faultTests(suite)
}
