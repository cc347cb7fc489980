import { COMMANDS, PLACES } from '../lib/keys.ts'
import { Dialog } from '../ui/dialog.tsx'

export function KeyHelp({ onClose }: { onClose: () => void }) {
  return (
    <Dialog title="Keyboard shortcuts" onClose={onClose}>
      <table className="keys">
        <tbody>
          {Object.entries(COMMANDS).map(([key, { does }]) => (
            <Row key={key} keys={[key]} does={does} />
          ))}
          <Row keys={['Enter']} does="Open the row in focus" />
          {Object.entries(PLACES).map(([key, { name }]) => (
            <Row key={key} keys={['g', key]} does={`Go to ${name}`} />
          ))}
          <Row keys={['Esc']} does="Close" />
        </tbody>
      </table>
    </Dialog>
  )
}

function Row({ keys, does }: { keys: readonly [string, string?]; does: string }) {
  return (
    <tr>
      <th scope="row">{does}</th>
      <td>
        <kbd>{keys[0]}</kbd>
        {keys[1] && (
          <>
            {' then '}
            <kbd>{keys[1]}</kbd>
          </>
        )}
      </td>
    </tr>
  )
}
