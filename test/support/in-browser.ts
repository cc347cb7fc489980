import { describe } from 'vitest'
import { findChromium } from '../services/chromium.ts'

const browser = await findChromium()

/** What needs a browser. Without one it is skipped, and its name says why. */
export function inBrowser(name: string, tests: () => void): void {
  if (browser.found) describe(name, tests)
  else describe.skip(`${name} (skipped: ${browser.why}; CHROMIUM=/path names another browser)`, tests)
}
