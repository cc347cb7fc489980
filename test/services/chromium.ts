import { existsSync } from 'node:fs'
import { type Browser, chromium } from 'playwright-core'
import { type Found, findPackage, installPackage } from './debian.ts'

/** The shell has no windows, tabs and menus of its own, so that it takes less than half of the CPU time of the others. */
const SHELL = '/usr/bin/chromium-headless-shell'
const PLACES = [SHELL, '/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome']

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
  return findPackage('chromium-headless-shell', async () => place() !== undefined)
}

/** Installs the shell beside another browser too. Where that is not possible, the other one will do. */
export async function prepareChromium(): Promise<void> {
  if (process.env['CHROMIUM'] === undefined && !existsSync(SHELL))
    await installPackage('chromium-headless-shell')
  await findChromium()
}

export async function openBrowser(): Promise<Browser> {
  return await chromium.launch({ executablePath: place()!, args: FLAGS })
}

function place(): string | undefined {
  return [process.env['CHROMIUM'], ...PLACES].find(path => path !== undefined && existsSync(path))
}
