import type { BreakerMode } from '../../core/breaker/state.ts'

/** A breaker's mode as a number: 0 lets calls through, 1 probes, 2 refuses. By hand or not makes no difference; no breaker lets calls through. */
export function breakerGauge(mode: BreakerMode | 'off'): 0 | 1 | 2 {
  if (mode === 'open' || mode === 'forced-open') return 2
  return mode === 'half-open' ? 1 : 0
}
