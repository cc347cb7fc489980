import { expect, it } from 'vitest'
import { programsMarked, runProgram } from './run-program.ts'

it.each(programsMarked('run'))(
  '"a complete example that runs in CI": $page, line $line',
  async ({ text }) => {
    await expect(runProgram(text)).resolves.toMatchObject({ stderr: '' })
  },
  120_000,
)
