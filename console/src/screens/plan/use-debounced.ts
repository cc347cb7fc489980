import { useEffect, useState } from 'react'
import { after } from '../../lib/browser-clock.ts'

/** The value once it has stayed the same for a while: what one types is not asked about letter by letter. */
export function useDebounced<T>(value: T, ms: number): T {
  const [settled, setSettled] = useState(value)
  useEffect(() => after(ms, () => setSettled(value)), [value, ms])
  return settled
}
