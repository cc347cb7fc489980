import { plainText } from '../../lib/plain-text.ts'
import { Copy } from '../../ui/copy.tsx'

/** The console does nothing that the command line cannot. */
export function Command({ command, isTitled = true }: { command: string; isTitled?: boolean }) {
  return (
    <div>
      {isTitled && <h3>Command line equivalent</h3>}
      <div className="command">
        <code className="foreign">{plainText(command)}</code>
        <Copy text={command} what="command" />
      </div>
    </div>
  )
}
