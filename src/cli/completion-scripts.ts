import type { Command } from './command.ts'

// A shell loads the script once. It contains everything, so that Tab never starts a process.

type Commands = readonly Command[]

function familiesOf(commands: Commands): string[] {
  return [...new Set(commands.map(({ name }) => name.split(' ')[0]!))]
}

function verbsOf(commands: Commands, family: string): string[] {
  return commands
    .filter(({ name }) => name.startsWith(`${family} `))
    .map(({ name }) => name.slice(family.length + 1))
}

function flagsOf({ flags }: Command): string[] {
  return Object.keys(flags).map(name => `--${name}`)
}

/** The flags of a command with fixed choices. Choices differ between commands, so the script has them per command. */
function choicesOf({ flags }: Command): [string, readonly string[]][] {
  return Object.entries(flags).flatMap(([name, { choices }]) =>
    choices === undefined ? [] : [[name, choices]],
  )
}

/** The flags that take a value, so that the script does not mistake the value for a command. */
function valueFlags(commands: Commands): string[] {
  const names = commands.flatMap(({ flags }) =>
    Object.entries(flags).flatMap(([name, { placeholder }]) =>
      placeholder === undefined ? [] : [`--${name}`],
    ),
  )
  return [...new Set(names)]
}

export function bashScript(commands: Commands): string {
  const cases = commands.map(command => {
    const values = choicesOf(command).map(
      ([name, choices]) =>
        `        --${name}) COMPREPLY=($(compgen -W "${choices.join(' ')}" -- "$cur")); return;;`,
    )
    return [
      `    "${command.name}")`,
      ...(values.length === 0 ? [] : ['      case "$prev" in', ...values, '      esac']),
      `      words="${flagsOf(command).join(' ')}";;`,
    ].join('\n')
  })
  const verbs = familiesOf(commands)
    .filter(family => verbsOf(commands, family).length > 0)
    .map(family => `    "${family}") words="${verbsOf(commands, family).join(' ')} --help";;`)
  return `# lazaret completion for bash: source <(lazaret completion bash)
_lazaret() {
  local cur="\${COMP_WORDS[COMP_CWORD]}" prev="\${COMP_WORDS[COMP_CWORD-1]}" verb="" words="" taken=0 i word
  for ((i = 1; i < COMP_CWORD; i++)); do
    word="\${COMP_WORDS[i]}"
    case " ${valueFlags(commands).join(' ')} " in *" $word "*) ((i++)); continue;; esac
    case "$word" in -*) continue;; esac
    [ $taken -lt 2 ] && verb="\${verb:+$verb }$word"
    taken=$((taken + 1))
  done
  case "$verb" in
    "") words="${familiesOf(commands).join(' ')} --help --version";;
${verbs.join('\n')}
${cases.join('\n')}
  esac
  case "$prev" in --config|--out|--patch) COMPREPLY=($(compgen -f -- "$cur")); return;; esac
  COMPREPLY=($(compgen -W "$words" -- "$cur"))
}
complete -o default -F _lazaret lazaret
`
}

/** zsh reads bash's completions through its own adapter. */
export function zshScript(commands: Commands): string {
  return `#compdef lazaret
# lazaret completion for zsh: source <(lazaret completion zsh)
autoload -U +X bashcompinit && bashcompinit
${bashScript(commands)}`
}

export function fishScript(commands: Commands): string {
  const lines = ['# lazaret completion for fish: lazaret completion fish | source', 'complete -c lazaret -f']
  for (const family of familiesOf(commands)) {
    const about = commands.find(({ name }) => name === family)?.about ?? verbsOf(commands, family).join(', ')
    lines.push(`complete -c lazaret -n __fish_use_subcommand -a ${family} -d ${quote(about)}`)
  }
  for (const command of commands) {
    const [family, verb] = command.name.split(' ') as [string, string | undefined]
    const seen = `__fish_seen_subcommand_from ${family}`
    if (verb !== undefined) {
      const others = verbsOf(commands, family).join(' ')
      const isOpen = `${seen}; and not __fish_seen_subcommand_from ${others}`
      lines.push(`complete -c lazaret -n ${quote(isOpen)} -a ${verb} -d ${quote(command.about)}`)
    }
    const here = verb === undefined ? seen : `${seen}; and __fish_seen_subcommand_from ${verb}`
    for (const [name, { about, placeholder, choices }] of Object.entries(command.flags)) {
      const value =
        placeholder === undefined ? '' : choices === undefined ? ' -r' : ` -x -a ${quote(choices.join(' '))}`
      lines.push(`complete -c lazaret -n ${quote(here)} -l ${name}${value} -d ${quote(about)}`)
    }
  }
  return `${lines.join('\n')}\n`
}

function quote(text: string): string {
  return `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`
}
