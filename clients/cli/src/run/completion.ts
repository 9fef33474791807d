import { type Call, COMMON, type Command, type Option } from '../command.ts';
import { Failure } from '../failure.ts';

export async function completion(
  { words: [shell = ''], screen }: Call,
  commands: Commands,
): Promise<void> {
  const script = SCRIPTS[shell];
  if (!script)
    throw new Failure('usage', `There are completions for bash, zsh and fish, not ${shell}.`);
  const text = script(commands);
  screen.result({ shell, script: text }, text);
}

const SCRIPTS: Record<string, (commands: Commands) => string> = { bash, zsh, fish };

const optionsOf = ({ options }: Command) => Object.entries({ ...options, ...COMMON });
type Commands = readonly Command[];

/** Completes an option's value from its allowed values; without a completion, bash offers files. */
function bashValues(commands: Commands): string {
  const known = new Map(commands.flatMap(optionsOf));
  const lines = [...known].flatMap(([name, { values, isFile, short }]) => {
    const names = short ? `--${name}|-${short}` : `--${name}`;
    if (values)
      return [
        `    ${names}) COMPREPLY=($(compgen -W '${values.join(' ')}' -- "$word")); return ;;`,
      ];
    return isFile ? [`    ${names}) COMPREPLY=(); return ;;`] : [];
  });
  return lines.join('\n');
}

function bash(commands: Commands): string {
  const names = commands.map(({ name }) => name).join(' ');
  const cases = commands.map((command) => {
    const names = optionsOf(command).map(([name]) => `--${name}`);
    const words = [...names, ...(command.words?.values ?? [])].join(' ');
    return `    ${command.name}) words='${words}' ;;`;
  });
  return `_fw() {
  local word="\${COMP_WORDS[COMP_CWORD]}" before="\${COMP_WORDS[COMP_CWORD-1]}" words=''
  if [ "$COMP_CWORD" -eq 1 ]; then
    COMPREPLY=($(compgen -W '${names} --help --version' -- "$word")); return
  fi
  case "$before" in
${bashValues(commands)}
  esac
  case "\${COMP_WORDS[1]}" in
${cases.join('\n')}
  esac
  COMPREPLY=($(compgen -W "$words" -- "$word"))
}
complete -o default -F _fw fw`;
}

const shellQuote = (text: string) => `'${text.replaceAll("'", String.raw`'\''`)}'`;
const zshEscape = (text: string) => text.replaceAll(/[[\]:]/g, String.raw`\$&`);
const zshValues = (values: readonly string[]) => `(${values.map(zshEscape).join(' ')})`;

function zshOption([name, { kind, short, values, isFile, isList, summary }]: [string, Option]) {
  const value = values ? `:value:${zshValues(values)}` : isFile ? ':file:_files' : ':value: ';
  const repeat = isList ? '*' : '';
  return [`--${name}`, ...(short ? [`-${short}`] : [])]
    .map((word) => `${repeat}${word}[${zshEscape(summary)}]${kind === 'flag' ? '' : value}`)
    .map(shellQuote);
}

function zshWords({ words }: Command): string[] {
  if (words?.values) return [shellQuote(`*:word:${zshValues(words.values)}`)];
  return words?.isFile ? [shellQuote('*:file:_files')] : [];
}

function zsh(commands: Commands): string {
  const described = commands.map(
    ({ name, summary }) => `    ${shellQuote(`${name}:${zshEscape(summary)}`)}`,
  );
  const cases = commands.map((command) => {
    const all = [...optionsOf(command).flatMap(zshOption), ...zshWords(command)];
    return `    ${command.name}) _arguments ${all.join(' ')} ;;`;
  });
  return `#compdef fw
_fw() {
  local -a commands
  commands=(
${described.join('\n')}
  )
  if (( CURRENT == 2 )); then _describe command commands; return; fi
  local name="$words[2]"
  shift words; (( CURRENT-- ))
  case "$name" in
${cases.join('\n')}
  esac
}
if [ "$funcstack[1]" = _fw ]; then _fw "$@"; else compdef _fw fw; fi`;
}

function fish(commands: Commands): string {
  const lines = commands.flatMap((command) => {
    const isChosen = shellQuote(`__fish_seen_subcommand_from ${command.name}`);
    const options = optionsOf(command).map(([name, { kind, short, values, isFile, summary }]) => {
      const value = values ? ` -x -a ${shellQuote(values.join(' '))}` : isFile ? ' -r -F' : ' -x';
      const shortened = short ? ` -s ${short}` : '';
      const end = kind === 'flag' ? '' : value;
      return `complete -c fw -n ${isChosen} -l ${name}${shortened} -d ${shellQuote(summary)}${end}`;
    });
    const { words } = command;
    const word = words?.values
      ? `-a ${shellQuote(words.values.join(' '))}`
      : words?.isFile
        ? '-F'
        : '';
    return [
      `complete -c fw -n __fish_use_subcommand -a ${command.name} -d ${shellQuote(command.summary)}`,
      ...options,
      ...(word ? [`complete -c fw -n ${isChosen} ${word}`] : []),
    ];
  });
  return ['complete -c fw -f', ...lines].join('\n');
}
