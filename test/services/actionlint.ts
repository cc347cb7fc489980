import { type FoundProgram, findGoProgram } from './go-program.ts'

const VERSION = 'v1.7.12'

/** The checker of GitHub's workflows. */
export function findActionlint(): Promise<FoundProgram> {
  const source = `github.com/rhysd/actionlint/cmd/actionlint@${VERSION}`
  return findGoProgram({ name: 'actionlint', version: VERSION, source })
}
