import { useCallback, useState } from 'react'
import { BASE_PATH } from '../../lib/base-path.ts'
import { EMPTY_PLAN, type PlanForm } from '../../lib/plan-form.ts'

/**
 * What a person has typed for these letters. It lasts as long as the tab, so that a reload keeps it, and ends when the plan is
 * made. Without storage it lasts as long as the page.
 */
export function usePlanDraft(letters: string): readonly [PlanForm, (form: PlanForm) => void, () => void] {
  const key = `lazaret.plan${BASE_PATH}?${letters}`
  const [form, setForm] = useState(() => read(key))
  const set = useCallback(
    (next: PlanForm) => {
      setForm(next)
      change(() => sessionStorage.setItem(key, JSON.stringify(next)))
    },
    [key],
  )
  const forget = useCallback(() => change(() => sessionStorage.removeItem(key)), [key])
  return [form, set, forget]
}

/** An older console may have stored other fields. */
function read(key: string): PlanForm {
  try {
    const stored = JSON.parse(sessionStorage.getItem(key) ?? '{}') as Readonly<Record<string, unknown>>
    const known = Object.entries(EMPTY_PLAN).map(([name, empty]) => {
      const value = stored[name]
      return [name, typeof value === typeof empty ? value : empty] as const
    })
    return Object.fromEntries(known) as unknown as PlanForm
  } catch {
    return EMPTY_PLAN
  }
}

function change(store: () => void): void {
  try {
    store()
  } catch {
    // See above.
  }
}
