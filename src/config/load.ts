import { readFile } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'
import { checkConfig } from './check.ts'
import { type Config, DEFAULT_CONFIG, parseConfig } from './config.ts'
import { ConfigError } from './config-error.ts'
import type { Env } from './substitute.ts'

const DEFAULT_CONFIG_FILE = 'lazaret.yaml'

export interface LoadedConfig {
  readonly config: Config
  /** The file name; undefined without a config file. */
  readonly file: string | undefined
  /** The base of the relative paths in the file. */
  readonly folder: string
}

interface LoadOptions {
  /** This file must exist. Without it, `lazaret.yaml` is read if it exists. */
  readonly file?: string | undefined
  readonly cwd: string
  readonly env: Env
}

/** Checks the whole file. Returns its name; undefined without a config file. */
export async function checkConfigFile({ file, cwd, env }: LoadOptions): Promise<string | undefined> {
  const named = file ?? DEFAULT_CONFIG_FILE
  const text = await readText(resolve(cwd, named), named)
  if (text !== undefined) checkConfig(text, named, env)
  else if (file !== undefined) throw new ConfigError(named, 'config file not found; give an existing path')
  return text === undefined ? undefined : named
}

export async function loadConfig({ file, cwd, env }: LoadOptions): Promise<LoadedConfig> {
  const named = file ?? DEFAULT_CONFIG_FILE
  const path = resolve(cwd, named)
  const text = await readText(path, named)
  if (text !== undefined) return { config: parseConfig(text, named, env), file: named, folder: dirname(path) }
  if (file !== undefined)
    throw new ConfigError(named, 'config file not found; give an existing path with --config, or omit it')
  return { config: DEFAULT_CONFIG, file: undefined, folder: cwd }
}

async function readText(path: string, named: string): Promise<string | undefined> {
  try {
    return await readFile(path, 'utf8')
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'ENOENT') return undefined
    throw new ConfigError(
      named,
      `cannot be read (${code}); check that it is a file and that you may read it`,
      error,
    )
  }
}
