#!/usr/bin/env node
import { isNodeNewEnough, MIN_NODE_VERSION } from './node-version.ts'
import { processIo } from './process-io.ts'
import { run } from './run.ts'

if (isNodeNewEnough(process.version)) process.exitCode = await run(process.argv.slice(2), processIo())
else {
  process.stderr.write(
    `lazaret: Node ${process.version} is too old; install Node ${MIN_NODE_VERSION} or newer\n`,
  )
  process.exitCode = 1
}
