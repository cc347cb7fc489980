import { useEffect } from 'react'

const CONTROLS = 'a, button, input, label, select, textarea, summary'
const MIDDLE_BUTTON = 1

/**
 * A click anywhere in a row opens what the row links to. The link does not lie over the row, so that its text can be selected;
 * the keys held, and the middle button, do what they do on a link.
 */
export function useRowClicks(): void {
  useEffect(() => {
    document.addEventListener('click', openRow)
    document.addEventListener('auxclick', openRow)
    return () => {
      document.removeEventListener('click', openRow)
      document.removeEventListener('auxclick', openRow)
    }
  }, [])
}

function openRow(event: MouseEvent): void {
  const { target, button, ctrlKey, metaKey, shiftKey } = event
  if (event.defaultPrevented || button > MIDDLE_BUTTON || !(target instanceof Element)) return
  const link = target.closest('tr.linked')?.querySelector('.row-link')
  const hasSelectedText = document.getSelection()?.isCollapsed === false
  if (!link || target.closest(CONTROLS) || hasSelectedText) return
  const inNewTab = button === MIDDLE_BUTTON
  link.dispatchEvent(
    new MouseEvent('click', {
      bubbles: true,
      cancelable: true,
      ctrlKey: ctrlKey || inNewTab,
      metaKey: metaKey || inNewTab,
      shiftKey,
    }),
  )
}
