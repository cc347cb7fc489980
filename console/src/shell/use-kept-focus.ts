import { useEffect } from 'react'

const FOCUSABLE = 'a[href], button, input, select, textarea, [tabindex="0"]'

/**
 * Keeps the keyboard's place. An action often removes the button that did it: "Resolve" becomes "Reopen", a form closes. Then
 * the focus goes to what now stands in the nearest part of the page that is left, not to the top of the page.
 */
export function useKeptFocus(): void {
  useEffect(() => {
    let place: readonly Element[] = []
    const remember = ({ target }: FocusEvent) => {
      place = target instanceof Element ? withAncestors(target) : []
    }
    const forget = ({ target }: FocusEvent) => {
      // Removing an element ends its focus too; that is not a person who went elsewhere.
      queueMicrotask(() => {
        if (target === place[0] && place[0]?.isConnected) place = []
      })
    }
    const observer = new MutationObserver(() => {
      if (place.length === 0 || place[0]!.isConnected || document.activeElement !== document.body) return
      const around = place.find(element => element.isConnected && element !== document.body)
      place = []
      nextIn(around)?.focus()
    })
    document.addEventListener('focusin', remember)
    document.addEventListener('focusout', forget)
    observer.observe(document.body, { childList: true, subtree: true })
    return () => {
      document.removeEventListener('focusin', remember)
      document.removeEventListener('focusout', forget)
      observer.disconnect()
    }
  }, [])
}

/** The first element in it that takes the focus, or the screen. */
function nextIn(around: Element | undefined): HTMLElement | null {
  const next = around?.id === 'main' ? undefined : around?.querySelector<HTMLElement>(FOCUSABLE)
  return next ?? document.querySelector<HTMLElement>('#main')
}

function withAncestors(element: Element): readonly Element[] {
  const found: Element[] = []
  for (let each: Element | null = element; each !== null; each = each.parentElement) found.push(each)
  return found
}
