import { stat } from 'node:fs/promises'
import { dirname } from 'node:path'
import { DEFAULT_CONFIG } from '../../config/config.ts'
import { type LoadedConfig, loadConfig } from '../../config/load.ts'
import { withoutCredentials } from '../../core/options/show.ts'
import type { Store } from '../../ports/store.ts'
import type { Context } from '../command.ts'
import { type Check, fail, failWith, ok } from '../doctor/check.ts'
import { checkCollectors } from '../doctor/collectors.ts'
import { checkJournal, checkPermissions, checkSpill } from '../doctor/files.ts'
import { checkKafka } from '../doctor/kafka.ts'
import { checkAccess, checkClock, checkDisk, checkNode } from '../doctor/machine.ts'
import { checkNats } from '../doctor/nats.ts'
import { checkNotify, checkRoutes } from '../doctor/notify.ts'
import { checkSignIn } from '../doctor/sign-in.ts'
import { checkDamage, checkExpired, checkLetters, checkRedis, checkSearch } from '../doctor/store.ts'
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
  const chosen = storesToCheck(flags.store, io, loaded)
  // An invalid config may name another store, so a fault of the default one would mislead.
  const isUnknown = chosen[0]?.isDefault === true && check.status === 'fail'
  const stores: StoreChecks[] = []
  if (isUnknown) stores.push(SKIPPED)
  else for (const each of chosen) stores.push(await checkStore(io, each, loaded.config))
  checks.push(...stores.flatMap(each => each.checks))
  checks.push(
    ...(await checkSpill(loaded.config, loaded.folder)),
    ...(await checkJournal(loaded.config, loaded.folder)),
    ...(await checkCollectors(loaded.config, io)),
    ...(await checkKafka(loaded.config, io)),
    ...(await checkNats(loaded.config, io)),
    ...(await checkNotify(loaded.config, io.clock)),
    ...(await checkSignIn(loaded.config)),
  )
  for (const { address, name } of stores) checks.push(...(await checkFiles(address, name)))
  const clocks = await Promise.all(stores.map(each => checkClock(io, each.address, each.newestAt)))
  const clock = clocks.find(({ status }) => status === 'fail') ?? clocks.find(({ status }) => status !== 'ok')
  checks.push(...checkRoutes(loaded.config), clock ?? clocks[0]!)
  await print(io, checks, flags.json)
  return checks.some(({ status }) => status === 'fail') ? 1 : 0
}

interface ChosenStore extends ReturnType<typeof chooseStore> {
  /** Its name in `server.stores`; undefined for the store of the other commands. */
  readonly name: string | undefined
}

/** The store of the flag alone; else the one that commands use, and all of `server.stores`. */
function storesToCheck(typed: string | undefined, io: Io, loaded: LoadedConfig): readonly ChosenStore[] {
  const own = { ...chooseStore(typed, io, loaded), name: undefined }
  const several = Object.entries(loaded.config.server.stores ?? {})
  if (typed !== undefined || several.length === 0) return [own]
  const { folder } = loaded
  const served = several.map(([name, url]) => ({ name, url, folder, isDefault: false }))
  const isServed = served.some(({ url }) => url === own.url && folder === own.folder)
  return own.isDefault || isServed ? served : [own, ...served]
}

/** Nothing about files that do not exist: the check of the store names them. */
async function checkFiles(address: StoreAddress | undefined, store: string | undefined): Promise<Check[]> {
  if (address === undefined || !('path' in address)) return []
  const folder = dirname(address.path)
  const disk = (await exists(folder)) ? [await checkDisk(folder)] : []
  const files = (await exists(address.path))
    ? [await checkAccess('access', address.path), ...(await checkPermissions(address))]
    : []
  return [...files, ...disk].map(each => named(each, store))
}

async function exists(path: string): Promise<boolean> {
  const code = await stat(path).then(
    () => undefined,
    (error: NodeJS.ErrnoException) => error.code,
  )
  return code !== 'ENOENT'
}

function named(check: Check, store: string | undefined): Check {
  return store === undefined ? check : { ...check, name: `${check.name} ${store}` }
}

interface StoreChecks {
  /** Its name in `server.stores`. */
  readonly name: string | undefined
  readonly checks: readonly Check[]
  readonly address: StoreAddress | undefined
  readonly newestAt: number | undefined
}

const SKIPPED: StoreChecks = {
  name: undefined,
  checks: [{ name: 'store', status: 'skip', found: 'the config is invalid' }],
  address: undefined,
  newestAt: undefined,
}

async function checkStore(
  io: Io,
  { url, folder, name }: ChosenStore,
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
    checks.push(...letters.checks, ...expired, ...(await checkSearch(store)))
    checks.push(...(await checkDamage(store)), ...(await checkRedis(store)))
  } catch (error) {
    checks.push(await storeFault(error, address, name, config))
  } finally {
    await store?.close()
  }
  return { name, checks: checks.map(each => named(each, name)), address, newestAt }
}

async function storeFault(
  error: unknown,
  address: StoreAddress | undefined,
  name: string | undefined,
  { collectors, notify }: LoadedConfig['config'],
): Promise<Check> {
  const isMissing = address !== undefined && 'path' in address && !(await exists(address.path))
  if (isMissing && (collectors !== undefined || notify !== undefined))
    return ok('store', `${address.path} does not exist yet; lazaret serve creates it`)
  const fault = failWith('store', error, 'pass another store with --store')
  if (!isMissing || name === undefined) return fault
  return {
    ...fault,
    remedy: `start the service that creates it, or correct server.stores.${name} in the config`,
  }
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
    const remedy = 'fix the faults listed here'
    const { message } = error as Error
    // Each fault of a list has its own remedy.
    if (message.includes('\n')) return { loaded, check: fail('config', message, remedy) }
    return { loaded, check: failWith('config', error, remedy) }
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
