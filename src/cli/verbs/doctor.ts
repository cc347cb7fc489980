import { dirname } from 'node:path'
import { DEFAULT_CONFIG } from '../../config/config.ts'
import { type LoadedConfig, loadConfig } from '../../config/load.ts'
import { withoutCredentials } from '../../core/options/show.ts'
import type { Store } from '../../ports/store.ts'
import type { Context } from '../command.ts'
import { type Check, failWith, ok } from '../doctor/check.ts'
import { checkPermissions, checkSpill } from '../doctor/files.ts'
import { checkAccess, checkClock, checkDisk, checkNode } from '../doctor/machine.ts'
import { checkNotify, checkRoutes } from '../doctor/notify.ts'
import { checkDamage, checkExpired, checkLetters, checkRedis } from '../doctor/store.ts'
import type { storeFlags } from '../flags.ts'
import type { ExitCode, Io } from '../io.ts'
import { readStoreUrl, type StoreAddress } from '../open-store.ts'
import { jsonLine } from '../print/json.ts'
import { safeText } from '../print/safe-text.ts'
import { paintFor } from '../print/style.ts'
import { chooseStore } from '../session.ts'

/** Runs every check that is possible, whatever else fails. */
export async function doctor({ io, flags }: Context<typeof storeFlags>): Promise<ExitCode> {
  const { loaded, check } = await checkConfig(io, flags.config)
  const checks: Check[] = [checkNode(process.version), check]
  const chosen = chooseStore(flags.store, io, loaded)
  // An invalid config may name another store, so a fault of the default one would mislead.
  const isUnknown = chosen.isDefault && check.status === 'fail'
  const { address, newestAt, ...found } = isUnknown ? SKIPPED : await checkStore(io, chosen, loaded.config)
  checks.push(...found.checks)
  checks.push(
    ...(await checkSpill(loaded.config, loaded.folder)),
    ...(await checkNotify(loaded.config, io.clock)),
  )
  if (address !== undefined && 'path' in address) {
    checks.push(
      await checkAccess('access', address.path),
      ...(await checkPermissions(address)),
      await checkDisk(dirname(address.path)),
    )
  }
  checks.push(...checkRoutes(loaded.config), await checkClock(io, address, newestAt))
  await print(io, checks, flags.json)
  return checks.some(({ status }) => status === 'fail') ? 1 : 0
}

interface StoreChecks {
  readonly checks: readonly Check[]
  readonly address: StoreAddress | undefined
  readonly newestAt: number | undefined
}

const SKIPPED: StoreChecks = {
  checks: [{ name: 'store', status: 'skip', found: 'the config is invalid' }],
  address: undefined,
  newestAt: undefined,
}

async function checkStore(
  io: Io,
  { url, folder }: ReturnType<typeof chooseStore>,
  config: LoadedConfig['config'],
): Promise<StoreChecks> {
  const checks: Check[] = []
  let address: StoreAddress | undefined
  let newestAt: number | undefined
  let store: Store | undefined
  try {
    address = readStoreUrl(url, folder)
    store = await io.openStore(url, { folder, config, creates: 'never', clock: io.clock })
    checks.push(ok('store', `${withoutCredentials(url)} opens`))
    const letters = await checkLetters(store)
    newestAt = letters.newestAt
    // Reading finds damage, so this check comes last.
    const expired = await checkExpired(store, io.clock.now())
    checks.push(...letters.checks, ...expired, ...(await checkDamage(store)), ...(await checkRedis(store)))
  } catch (error) {
    checks.push(failWith('store', error, 'pass another store with --store'))
  } finally {
    await store?.close()
  }
  return { checks, address, newestAt }
}

async function checkConfig(
  io: Io,
  file: string | undefined,
): Promise<{ loaded: LoadedConfig; check: Check }> {
  try {
    const loaded = await loadConfig({ file, cwd: io.cwd, env: io.env })
    const found = loaded.file === undefined ? 'no config file; the defaults apply' : `${loaded.file} is valid`
    return { loaded, check: ok('config', found) }
  } catch (error) {
    // The other checks run with the default config, to find further faults.
    const loaded = { config: DEFAULT_CONFIG, file: undefined, folder: io.cwd }
    const { message } = error as Error
    return {
      loaded,
      check: { name: 'config', status: 'fail', found: message, remedy: 'fix the faults listed here' },
    }
  }
}

const SIGNS = {
  ok: ['green', 'ok  '],
  warn: ['yellow', 'warn'],
  skip: ['dim', 'skip'],
  fail: ['red', 'FAIL'],
} as const

async function print(io: Io, checks: readonly Check[], asJson: boolean | undefined): Promise<void> {
  if (asJson) {
    await io.stdout.write(jsonLine({ ok: checks.every(({ status }) => status !== 'fail'), checks }))
    return
  }
  const paint = paintFor(io.stdout, io.env)
  const width = Math.max(...checks.map(({ name }) => name.length))
  for (const { name, status, found, remedy } of checks) {
    const [colour, sign] = SIGNS[status]
    const lines = found.split('\n').map(safeText)
    const indent = ' '.repeat(6 + width + 2)
    const text = `${paint(colour, sign)}  ${name.padEnd(width)}  ${lines.join(`\n${indent}`)}\n`
    await io.stdout.write(remedy === undefined ? text : `${text}${indent}→ ${safeText(remedy)}\n`)
  }
}
