import { PrismaPg } from '@prisma/adapter-pg'
import * as runtime from '@prisma/client/runtime/client'

/** What tests use of a Prisma client. */
export interface PrismaClient {
  $transaction<T>(work: (tx: PrismaTransaction) => Promise<T>): Promise<T>
  $disconnect(): Promise<void>
}

export interface PrismaTransaction {
  $executeRawUnsafe(statement: string, ...values: unknown[]): Promise<number>
}

/** Without types of its own. */
const COMPILER = '@prisma/client/runtime/query_compiler_fast_bg.postgresql'

/**
 * The client that `prisma generate` writes for a schema without models. The command itself is not available everywhere:
 * it loads a program that is not in the registry. With a driver adapter, the generated client does not need that
 * program.
 */
const CONFIG = {
  previewFeatures: [],
  clientVersion: '7.10.0',
  engineVersion: '0edf323efd1d98336f3f0a68684b56f689b900d3',
  activeProvider: 'postgresql',
  inlineSchema:
    'generator client {\n  provider = "prisma-client"\n  output   = "./generated"\n}\n\ndatasource db {\n  provider = "postgresql"\n}\n',
  runtimeDataModel: { models: {}, enums: {}, types: {} },
  parameterizationSchema: { strings: [], graph: 'AAAA' },
  compilerWasm: {
    getRuntime: async () => await import(`${COMPILER}.mjs`),
    getQueryCompilerWasmModule: async () => {
      const { wasm } = await import(`${COMPILER}.wasm-base64.mjs`)
      return compile(Buffer.from(wasm, 'base64'))
    },
    importName: './query_compiler_fast_bg.js',
  },
} as unknown as runtime.GetPrismaClientConfig

/** The types of Node alone do not know it. */
function compile(bytes: Buffer): unknown {
  const { WebAssembly } = globalThis as unknown as {
    readonly WebAssembly: { readonly Module: new (bytes: Buffer) => unknown }
  }
  return new WebAssembly.Module(bytes)
}

export function prismaOn(connectionString: string): PrismaClient {
  const Client = runtime.getPrismaClient(CONFIG) as unknown as new (options: {
    readonly adapter: PrismaPg
  }) => PrismaClient
  return new Client({ adapter: new PrismaPg({ connectionString }) })
}
