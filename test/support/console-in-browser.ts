import type { Browser } from 'playwright-core'
import { afterAll, beforeAll } from 'vitest'
import { openBrowser } from '../services/chromium.ts'
import { expectFreshConsole } from './console-page.ts'
import type { ConsoleServer } from './console-server.ts'

interface ConsoleInBrowser {
  readonly browser: Browser
  readonly server: ConsoleServer
}

/** One server and one browser for all tests of a file, from its first test to its last. */
export function consoleInBrowser(serve: () => Promise<ConsoleServer>): ConsoleInBrowser {
  let browser: Browser | undefined
  let server: ConsoleServer | undefined
  beforeAll(async () => {
    expectFreshConsole()
    browser = await openBrowser()
    server = await serve()
  })
  afterAll(async () => {
    await browser?.close()
    await server?.close()
  })
  return {
    get browser() {
      return browser!
    },
    get server() {
      return server!
    },
  }
}
