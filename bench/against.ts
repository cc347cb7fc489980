import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { cp, mkdir, readFile, rm, symlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import * as memory from '../src/adapters/memory/index.ts'
import * as lazaret from '../src/index.ts'
import { seededRandom } from '../src/testing/seeded-random.ts'
import { estimateRatio } from './against/statistics.ts'
import { workloads } from './against/workloads.ts'

// Compares the CPU time of this build with that of an earlier revision, on a machine with other load. See
// docs/performance.md.

const PROCESSES = Number(process.env['LAZARET_BENCH_PROCESSES'] ?? 16)
const PAIRS = Number(process.env['LAZARET_BENCH_PAIRS'] ?? 60)
const SEED = 1
/** Compiler and garbage collector run in the thread of the work, so that their time counts for the build that caused it. */
const V8_OPTIONS = ['--single-threaded']

const run = promisify(execFile)

/** Builds a revision outside of this checkout. A second comparison with it uses the same build. */
async function buildOf(revision: string): Promise<string> {
  const { stdout } = await run('git', ['rev-parse', '--verify', `${revision}^{commit}`])
  const folder = join(tmpdir(), `lazaret-against-${stdout.trim()}`)
  const dist = join(folder, 'dist')
  if (existsSync(join(dist, 'index.js'))) return dist
  await mkdir(folder, { recursive: true })
  const archive = join(folder, 'source.tar')
  await run('git', ['archive', '--output', archive, stdout.trim()])
  await run('tar', ['-xf', archive, '-C', folder])
  if (!existsSync(join(folder, 'node_modules')))
    await symlink(resolve('node_modules'), join(folder, 'node_modules'))
  // Revisions without the script have a file for each module, which TypeScript writes.
  const { scripts } = JSON.parse(await readFile(join(folder, 'package.json'), 'utf8'))
  const [command, ...args] =
    'build:package' in scripts ? ['npm', 'run', 'build:package'] : ['npx', 'tsc', '-p', 'tsconfig.build.json']
  await run(command!, args, { cwd: folder })
  return dist
}

/** Copies this build, so that a build during the comparison does not change it. */
async function ownBuild(): Promise<string> {
  const folder = join(tmpdir(), `lazaret-against-now-${process.pid}`)
  await cp(resolve('dist'), join(folder, 'dist'), { recursive: true })
  await cp(resolve('package.json'), join(folder, 'package.json'))
  await symlink(resolve('node_modules'), join(folder, 'node_modules'))
  return join(folder, 'dist')
}

const [revision, only] = process.argv.slice(2)
if (revision === undefined) {
  process.stderr.write(
    'bench:against: give a revision, such as HEAD~10, and a part of a row name if you like\n',
  )
  process.exit(2)
}
const before = await buildOf(revision)
const now = await ownBuild()
const random = seededRandom(SEED)
for (const name of Object.keys(workloads({ lazaret, memory }))) {
  if (only !== undefined && !name.includes(only)) continue
  const ratios: number[] = []
  for (let number = 1; number <= PROCESSES; number++) {
    const script = join(import.meta.dirname, 'against/process.ts')
    const options = [...V8_OPTIONS, script, before, now, name, String(PAIRS), String(number)]
    ratios.push(JSON.parse((await run(process.execPath, options)).stdout))
  }
  const { ratio, low, high } = estimateRatio(ratios, random)
  const figures = `${ratio.toFixed(3)} (${low.toFixed(3)}–${high.toFixed(3)})`
  process.stdout.write(`${name.padEnd(46)} now ÷ before ${figures}, ${PROCESSES} × ${PAIRS} pairs\n`)
}
await rm(resolve(now, '..'), { recursive: true })
