import { describe } from 'vitest'
import { inBrowser } from '../../support/in-browser.ts'
import { missingServer } from './shop.ts'

/** Tests that need the servers of the shop and a browser. Without them they are skipped, and the name says why. */
export function inShop(name: string, tests: () => void): void {
  if (missingServer === undefined) inBrowser(name, tests)
  else describe.skip(`${name} (skipped: ${missingServer})`, tests)
}
