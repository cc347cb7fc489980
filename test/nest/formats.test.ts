import { execFile } from 'node:child_process'
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { ROOT } from '../support/source.ts'

const run = promisify(execFile)
const EXAMPLE = join(ROOT, 'examples/nestjs')
const TSC = join(ROOT, 'node_modules/typescript/bin/tsc')
const PACKAGES = ['@nestjs', 'reflect-metadata', 'rxjs', '@types']

/** Starts the application of the example, publishes an order that no retry can help, and tells what became of it. */
const PROGRAM = `
const { NestFactory } = await import('@nestjs/core')
const { createEvent } = await import('lazaret')
const { LAZARET_OPTIONS, LazaretConsumers, LazaretHealthIndicator } = await import('lazaret/nest')
const { AppModule } = await import('./app.module.js')
const app = await NestFactory.createApplicationContext(AppModule, { logger: false })
const { broker, deadLetters } = app.get(LAZARET_OPTIONS).store
await broker.publish([createEvent({ channel: 'orders', type: 'order.placed', payload: { orderId: 'A1', total: -1 } })])
const handled = () => app.get(LazaretConsumers).get('orders', 'reserve').health().lastProcessedAt !== undefined
while (!handled()) await new Promise(resolve => setImmediate(resolve))
const { letters } = await deadLetters.list()
const health = await app.get(LazaretHealthIndicator).check()
await app.close()
const [{ handler, cycle }] = letters
console.log(JSON.stringify({ handler, reason: cycle.reason, status: health.lazaret.status, dlqSize: health.lazaret.dlqSize }))
`

let folder: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'lazaret-nest-'))
})
afterAll(() => rm(folder, { recursive: true }))

// The compiler runs once for each format, and machines are busy.
describe('lazaret/nest with decorators of the TypeScript compiler', () => {
  it.each([
    ['CommonJS', 'commonjs'],
    ['ESM', 'module'],
  ])('the example runs as %s', async (_, type) => {
    const app = join(folder, type)
    await mkdir(join(app, 'node_modules'), { recursive: true })
    await writeFile(join(app, 'package.json'), JSON.stringify({ type }))
    for (const name of PACKAGES)
      await symlink(join(ROOT, 'node_modules', name), join(app, 'node_modules', name))
    await symlink(ROOT, join(app, 'node_modules/lazaret'))
    const sources = ['app.module', 'orders.service', 'warehouse'].map(name => join(EXAMPLE, `${name}.ts`))
    await writeFile(
      join(app, 'tsconfig.json'),
      JSON.stringify({
        extends: join(EXAMPLE, 'tsconfig.json'),
        // The example lies in a package of ESM. Its format is that of the folder that it is compiled for.
        compilerOptions: {
          module: type === 'module' ? 'esnext' : 'commonjs',
          moduleResolution: 'bundler',
          outDir: app,
          rootDir: EXAMPLE,
          noCheck: true,
        },
        include: [],
        exclude: [],
        files: sources,
      }),
    )
    await run(process.execPath, [TSC, '-p', app], { cwd: app })
    await writeFile(join(app, 'program.mjs'), PROGRAM)
    const source = join(ROOT, 'test/support/from-source.ts')
    const { stdout } = await run(process.execPath, ['--no-warnings', '--import', source, 'program.mjs'], {
      cwd: app,
      env: { ...process.env, SHOP_DB: join(app, 'shop.db') },
    })
    expect(JSON.parse(stdout)).toEqual({ handler: 'reserve', reason: 'permanent', status: 'up', dlqSize: 1 })
  })
})
