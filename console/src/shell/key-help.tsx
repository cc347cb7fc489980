import { PLACES } from '../lib/keys.ts'
import { Dialog } from '../ui/dialog.tsx'

export function KeyHelp({ onClose }: { onClose: () => void }) {
  return (
    <Dialog title="Keyboard shortcuts" onClose={onClose}>
      <table className="keys">
        <tbody>
          <Row keys={['/']} does="Search" />
          {Object.entries(PLACES).map(([key, { name }]) => (
            <Row key={key} keys={['g', key]} does={`Go to ${name}`} />
          ))}
          <Row keys={['?']} does="Show shortcuts" />
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
