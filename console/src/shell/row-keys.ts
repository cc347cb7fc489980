const LINK = 'tr.linked .row-link'
/** The row that was last in focus: a person who comes back to the list goes on from there. */
let last: string | undefined

/** Puts the next or the previous row of the screen into focus; the first one when none was. */
export function moveAlongRows(step: 1 | -1): void {
  const links = [...document.querySelectorAll<HTMLAnchorElement>(LINK)]
  const here = rowInFocus()?.querySelector<HTMLAnchorElement>('.row-link')?.href ?? last
  const place = links.findIndex(({ href }) => href === here)
  const next = links[place === -1 ? 0 : Math.min(Math.max(place + step, 0), links.length - 1)]
  last = next?.href
  next?.focus()
  next?.closest('tr')?.scrollIntoView({ block: 'nearest' })
}

export function selectRow(): void {
  rowInFocus()?.querySelector<HTMLInputElement>('input[type=checkbox]')?.click()
}

/**
 * Does what the screen's own replay button does. Where that refuses, because nothing is selected, the row in focus is replayed;
 * without such a row the button takes the focus and says why it refuses.
 */
export function replayFromHere(navigate: (to: string) => void): void {
  const button = document.querySelector<HTMLElement>('[data-key=r]')
  const row = rowInFocus()?.dataset['replay']
  if (button !== null && button.ariaDisabled !== 'true') button.click()
  else if (row !== undefined) navigate(row)
  else button?.focus()
}

/** Does what the screen's own compare button does. Where that refuses, the button takes the focus and says why. */
export function pressCompare(): void {
  const button = document.querySelector<HTMLElement>('[data-key=c]')
  if (button?.ariaDisabled === 'true') button.focus()
  else button?.click()
}

function rowInFocus(): HTMLElement | undefined {
  return document.activeElement?.closest<HTMLElement>('tr.linked') ?? undefined
}
