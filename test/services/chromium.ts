import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { promisify } from 'node:util'
import { type Browser, chromium } from 'playwright-core'

const run = promisify(execFile)
const INSTALL_MS = 600_000
const PLACES = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome']

/** As root there is no sandbox to be had, and a machine without a network must not be asked for one at every start. */
const FLAGS = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
]

/**
 * Debian's Chromium, installed where that can be done without asking. The browser tests are worth nothing without a
 * browser, so its absence is a failure that names it, never a silent skip.
 */
export async function openBrowser(): Promise<Browser> {
  return await chromium.launch({ executablePath: await findChromium(), args: FLAGS })
}

export async function findChromium(): Promise<string> {
  const found = [process.env['CHROMIUM'], ...PLACES].find(path => path !== undefined && existsSync(path))
  if (found !== undefined) return found
  const why = await install()
  const installed = PLACES.find(path => existsSync(path))
  if (installed !== undefined) return installed
  throw new Error(
    `Chromium is needed for the tests of the console and is not there (${why}). ` +
      'Install it with: apt-get install chromium; or name another one: CHROMIUM=/path/to/chrome',
  )
}

async function install(): Promise<string> {
  if (process.getuid?.() !== 0) return 'not root, so it was not installed'
  try {
    await run('apt-get', ['update'], { timeout: INSTALL_MS })
    await run('apt-get', ['install', '-y', 'chromium'], { timeout: INSTALL_MS, maxBuffer: 1 << 28 })
    return 'apt-get installed it, but it is in none of the usual places'
  } catch (error) {
    return `apt-get could not: ${error instanceof Error ? error.message.split('\n')[0] : error}`
  }
}
