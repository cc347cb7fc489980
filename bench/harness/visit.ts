import type { Browser, BrowserContext } from 'playwright-core'

/** A visit to a screen of the console. */
export interface Visit {
  readonly ms: number
  readonly tabMb: number
}

/** The first visit of a person: the browser has no file of the console. */
export async function visitOf(browser: Browser, url: string, sign: string): Promise<Visit> {
  return (await visitsOf(browser, url, sign, 1))[0]!
}

/** Visits of one person, each in a new tab. The browser keeps the files of the first one. */
export async function visitsOf(browser: Browser, url: string, sign: string, count: number): Promise<Visit[]> {
  const context = await browser.newContext({ viewport: { width: 1_440, height: 900 } })
  const visits: Visit[] = []
  while (visits.length < count) visits.push(await visit(context, url, sign))
  await context.close()
  return visits
}

/** Waits until the selector matches and the page has drawn two more frames, so that nothing blocks it. */
async function visit(context: BrowserContext, url: string, sign: string): Promise<Visit> {
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
  await page.close()
  return { ms: ms as number, tabMb }
}
