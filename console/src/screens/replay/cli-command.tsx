import { plainText } from '../../lib/plain-text.ts'
import { CopyButton } from '../../ui/copy-button.tsx'

/** The console does nothing that the command line cannot. */
export function CliCommand({ command, isTitled = true }: { command: string; isTitled?: boolean }) {
  return (
    <div>
      {isTitled && <h3>Command line equivalent</h3>}
      <div className="command">
        <code className="external-text">{plainText(command)}</code>
        <CopyButton text={command} what="command" />
      </div>
    </div>
  )
}
