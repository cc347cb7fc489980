import type { Browser } from 'playwright-core'

/** A visit to a screen of the console, in a browser without a cache. */
export interface Visit {
  readonly ms: number
  readonly tabMb: number
}

/** Waits until the selector matches and the page has drawn two more frames, so that nothing blocks it. */
export async function visitOf(browser: Browser, url: string, sign: string): Promise<Visit> {
  const context = await browser.newContext({ viewport: { width: 1_440, height: 900 } })
  const page = await context.newPage()
  await page.addInitScript(`
    new MutationObserver((_, observer) => {
      if (document.querySelector(${JSON.stringify(sign)}) === null) return
      observer.disconnect()
      requestAnimationFrame(() => requestAnimationFrame(() => { window.readyAt = performance.now() }))
    }).observe(document, { childList: true, subtree: true })`)
  await page.goto(url, { waitUntil: 'commit' })
  const readyAt = await page.waitForFunction(() => (globalThis as { readyAt?: number }).readyAt)
  const ms = await readyAt.jsonValue()
  const tabMb = (await page.evaluate<number>('performance.memory.usedJSHeapSize')) / 1e6
  await context.close()
  return { ms: ms as number, tabMb }
}
