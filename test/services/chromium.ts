import { existsSync } from 'node:fs'
import { type Browser, chromium } from 'playwright-core'
import { type Found, findPackage } from './debian.ts'

const PLACES = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome']

/** Chromium has no sandbox for root, and a machine without a network must not wait for one at every start. */
const FLAGS = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
]

/** Debian's Chromium, unless CHROMIUM names another one. */
export function findChromium(): Promise<Found> {
  return findPackage('chromium', async () => place() !== undefined)
}

export async function openBrowser(): Promise<Browser> {
  return await chromium.launch({ executablePath: place()!, args: FLAGS })
}

function place(): string | undefined {
  return [process.env['CHROMIUM'], ...PLACES].find(path => path !== undefined && existsSync(path))
}
