import { useMe } from '../api/queries.ts'
import type { Action, Permission } from '../api/types.ts'

const NOT_YET: Permission = { allowed: false, reason: 'Permissions are still loading.' }

/** Whether the current user may do it, and if not, why. */
export function useCan(action: Action): Permission {
  const { data } = useMe()
  return data?.can[action] ?? NOT_YET
}

/** Both have to allow it; the first that does not says why. */
export function both(first: Permission, second: Permission | undefined): Permission {
  return first.allowed && second !== undefined ? second : first
}

/** Whether there are several stores, so that each thing has to say which one it lies in. */
export function useIsFederated(): boolean {
  const { data } = useMe()
  return (data?.stores.length ?? 0) > 1
}
