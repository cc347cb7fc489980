// Runs in the page. Gives what is wrong with its layout as it is, one line each; the last value is the answer.
;(() => {
  /** Less than a hair's breadth of overlap is how fonts are drawn. */
  const TOLERANCE_PX = 3
  const NARROWEST_CELL_PX = 16
  /** Up to this length a word is one that people read; a longer one is a name that may have to be broken. */
  const LONGEST_WORD = 14
  /** A broken name that shows less than this in a line cannot be read. */
  const LEAST_IN_A_LINE = 8

  const EVERYWHERE = { left: -Infinity, right: Infinity, top: -Infinity, bottom: Infinity }

  const faults = []
  const frames = new Map()
  const clipped = new Map()
  const root = document.documentElement
  const overflow = root.scrollWidth - root.clientWidth
  if (overflow > 0) faults.push(`the page is ${overflow} px too wide${widest()}`)
  for (const cell of document.querySelectorAll('td, th')) {
    const { width, height } = cell.getBoundingClientRect()
    const isShown = height > 0 && cell.getClientRects().length > 0 && cell.textContent.trim() !== ''
    if (isShown && width < NARROWEST_CELL_PX && !isUnseen(cell))
      faults.push(`a cell is ${Math.round(width)} px wide: ${short(cell.textContent)}`)
  }
  const pieces = shownText()
  for (const piece of pieces) breaks(piece)
  overlaps(pieces)
  return [...new Set(faults)]

  function widest() {
    const wide = [...document.querySelectorAll('body *')].filter(
      element => element.getBoundingClientRect().right > root.clientWidth + 1 && !isScrolled(element),
    )
    const last = wide.at(-1)
    return last === undefined
      ? ''
      : `: ${last.tagName.toLowerCase()}.${last.className} ${short(last.textContent)}`
  }

  function isScrolled(element) {
    for (let at = element.parentElement; at !== null; at = at.parentElement)
      if (getComputedStyle(at).overflowX !== 'visible') return true
    return false
  }

  /** Each text with the boxes of it that a person can see. */
  function shownText() {
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT)
    const found = []
    for (let node = walker.nextNode(); node !== null; node = walker.nextNode()) {
      const { parentElement } = node
      if (node.data.trim() === '' || parentElement.closest('script, style, option, svg') !== null) continue
      if (isUnseen(parentElement)) continue
      const boxes = boxesOf(node, 0, node.data.length).map(box => within(box, parentElement))
      const seen = boxes.filter(box => box !== undefined)
      if (seen.length > 0) found.push({ node, parentElement, boxes: seen, layer: layerOf(parentElement) })
    }
    return found
  }

  /** Screen readers alone get what is clipped to nothing. */
  function isUnseen(element) {
    return isClipped(element) || !element.checkVisibility({ opacityProperty: true, visibilityProperty: true })
  }

  function isClipped(element) {
    if (element === null) return false
    const known = clipped.get(element)
    if (known !== undefined) return known
    const is = getComputedStyle(element).clipPath === 'inset(50%)' || isClipped(element.parentElement)
    clipped.set(element, is)
    return is
  }

  /** What lies over the screen, as a dialog or the tour does, covers it on purpose. */
  function layerOf(element) {
    return element.closest('dialog, .tour, .sidebar, [role="tooltip"]') ?? document.body
  }

  function boxesOf(node, from, to) {
    const range = document.createRange()
    range.setStart(node, from)
    range.setEnd(node, to)
    return [...range.getClientRects()].filter(({ width, height }) => width > 0 && height > 0)
  }

  /** The part of a box that no element around it cuts off. */
  function within(box, element) {
    const part = both(box, frameOf(element))
    return part.right - part.left > 1 && part.bottom - part.top > 1 ? part : undefined
  }

  /** The part of the page in which an element is shown. */
  function frameOf(element) {
    if (element === null || element === document.body) return EVERYWHERE
    const known = frames.get(element)
    if (known !== undefined) return known
    const around = frameOf(element.parentElement)
    const { overflowX, overflowY } = getComputedStyle(element)
    const frame =
      overflowX === 'visible' && overflowY === 'visible'
        ? around
        : both(around, element.getBoundingClientRect())
    frames.set(element, frame)
    return frame
  }

  function both(one, other) {
    return {
      left: Math.max(one.left, other.left),
      right: Math.min(one.right, other.right),
      top: Math.max(one.top, other.top),
      bottom: Math.min(one.bottom, other.bottom),
    }
  }

  /** Code keeps its columns, so it breaks where the line ends. */
  function breaks({ node, parentElement }) {
    if (parentElement.closest('pre, code') !== null) return
    for (const { 0: word, index } of node.data.matchAll(/[^\s\-/]+/gu)) {
      const lines = new Set(boxesOf(node, index, index + word.length).map(({ top }) => Math.round(top))).size
      if (lines < 2) continue
      if (/^\p{L}+$/u.test(word) && word.length <= LONGEST_WORD)
        faults.push(`a word is broken: ${short(word)} on ${lines} lines`)
      else if (word.length / lines < LEAST_IN_A_LINE)
        faults.push(`a name is broken letter by letter: ${short(word)} on ${lines} lines`)
    }
  }

  function overlaps(shown) {
    const boxes = shown
      .flatMap(({ node, layer, boxes }) => boxes.map(box => ({ ...box, node, layer })))
      .sort((one, other) => one.top - other.top)
    for (const [index, one] of boxes.entries())
      for (let at = index + 1; at < boxes.length && boxes[at].top < one.bottom - TOLERANCE_PX; at++) {
        const other = boxes[at]
        if (other.node === one.node || other.layer !== one.layer) continue
        const across = Math.min(one.right, other.right) - Math.max(one.left, other.left)
        const down = Math.min(one.bottom, other.bottom) - other.top
        if (across > TOLERANCE_PX && down > TOLERANCE_PX)
          faults.push(`texts overlap: ${short(one.node.data)} and ${short(other.node.data)}`)
      }
  }

  function short(text) {
    const line = text.trim().replaceAll(/\s+/g, ' ')
    return `"${line.length > 40 ? `${line.slice(0, 40)}…` : line}"`
  }
})()
