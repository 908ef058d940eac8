import { Argument, type Command } from 'commander';
import type { Ports } from './ports.ts';

/** `completion`: prints a shell script that completes commands, options and values, generated from the commands. */
export function addCompletion(parent: Command, ports: Ports): void {
  parent
    .command('completion')
    .description('print a completion script for your shell')
    .addArgument(new Argument('<shell>', 'shell').choices(Object.keys(SHELLS)))
    .addHelpText('after', '\nFor bash, in ~/.bashrc:\n  source <(signalpost completion bash)')
    .action((shell: Shell) => ports.out(SHELLS[shell](placesOf(parent, ''))));
}

/** The command and all its subcommands, each with possible next words. */
function placesOf(command: Command, path: string): CompletionPlace[] {
  const help = command.createHelp();
  const commands = help.visibleCommands(command).filter((sub) => sub.name() !== 'help');
  const values = command.registeredArguments.flatMap(({ argChoices }) => argChoices ?? []);
  const place: CompletionPlace = {
    path,
    words: [
      ...commands.map((sub) => ({ word: sub.name(), about: sub.description().split(';')[0] ?? '' })),
      ...values.map((word) => ({ word, about: '' })),
    ],
    options: help.visibleOptions(command).map((option) => ({
      word: option.long ?? option.flags,
      about: option.description,
      takesValue: option.required || option.optional,
      values: option.argChoices ?? [],
    })),
  };
  return [place, ...commands.flatMap((sub) => placesOf(sub, `${path} ${sub.name()}`.trim()))];
}

/** A command with its possible next words. `path` are its words: `tenant create`; empty for the program. */
interface CompletionPlace {
  path: string;
  words: { word: string; about: string }[];
  options: { word: string; about: string; takesValue: boolean; values: readonly string[] }[];
}

/** Generates each shell's script. All three find the command in the words typed so far, and offer the possible next words. */
const SHELLS = { bash: bashScript, zsh: zshScript, fish: fishScript };
type Shell = keyof typeof SHELLS;

function bashScript(places: readonly CompletionPlace[]): string {
  const words = places.map(
    ({ path, words, options }) => `    ${quote(path)}) words=${quote(list([...words, ...options]))} ;;`,
  );
  return `# bash completion of signalpost
_signalpost() {
  local current="\${COMP_WORDS[COMP_CWORD]}" previous="\${COMP_WORDS[COMP_CWORD-1]}" path='' word words=''
  for word in "\${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    case "\${path:+$path }$word" in
${known(places, 6)} path="\${path:+$path }$word" ;;
    esac
  done
  case "$path:$previous" in
${valueCases(places, (values) => `COMPREPLY=($(compgen -W ${quote(values)} -- "$current"))`)}
  esac
  case "$path" in
${words.join('\n')}
  esac
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}
complete -o default -F _signalpost signalpost`;
}

function zshScript(places: readonly CompletionPlace[]): string {
  const found = places.map(({ path, words, options }) => {
    const entries = [...words, ...options].map(({ word, about }) =>
      quote(about === '' ? word : `${word}:${about}`),
    );
    return `    ${quote(path)}) found=(${entries.join(' ')}) ;;`;
  });
  return `#compdef signalpost
_signalpost() {
  local place='' word
  local -a found
  for word in "\${(@)words[2,CURRENT-1]}"; do
    case "\${place:+$place }$word" in
${known(places, 6)} place="\${place:+$place }$word" ;;
    esac
  done
  case "$place:$words[CURRENT-1]" in
${valueCases(places, (values) => (values === '' ? '_files' : `compadd -- ${values}`))}
  esac
  case "$place" in
${found.join('\n')}
  esac
  _describe signalpost found || _files
}
compdef _signalpost signalpost`;
}

function fishScript(places: readonly CompletionPlace[]): string {
  const lines = places.flatMap(({ path, words, options }) => {
    const at = `complete -c signalpost -n ${quote(`__signalpost_at ${path}`.trim())}`;
    return [
      ...words.map(({ word, about }) => `${at} -a ${word}${about && ` -d ${quote(about)}`}`),
      ...options.map(({ word, about, takesValue, values }) => {
        const value = takesValue ? ` -x${values.length > 0 ? ` -a ${quote(values.join(' '))}` : ''}` : '';
        return `${at} -l ${word.replace(/^--/, '')}${value} -d ${quote(about)}`;
      }),
    ];
  });
  return `# fish completion of signalpost
function __signalpost_at
  set -l place
  for word in (commandline -opc)[2..]
    switch (string trim -- "$place $word")
      case ${pathsBelow(places).map(quote).join(' ')}
        set place $place $word
    end
  end
  test "$place" = "$argv"
end
complete -c signalpost -f
${lines.join('\n')}`;
}

function pathsBelow(places: readonly CompletionPlace[]): string[] {
  return places.map(({ path }) => path).filter((path) => path !== '');
}

function known(places: readonly CompletionPlace[], indent: number): string {
  return `${' '.repeat(indent)}${pathsBelow(places).map(quote).join('|')})`;
}

/** After an option that takes a value, only its values are offered, or nothing if they are unknown. */
function valueCases(places: readonly CompletionPlace[], offer: (values: string) => string): string {
  const patterns = new Map<string, string[]>();
  for (const { path, options } of places) {
    for (const { word, values } of options.filter(({ takesValue }) => takesValue)) {
      const same = patterns.get(values.join(' ')) ?? [];
      patterns.set(values.join(' '), [...same, quote(`${path}:${word}`)]);
    }
  }
  return [...patterns].map(([values, at]) => `    ${at.join('|')}) ${offer(values)}; return ;;`).join('\n');
}

function list(items: readonly { word: string }[]): string {
  return items.map(({ word }) => word).join(' ');
}

/** Quotes any text as one shell word; fish also accepts `'\\''` for a quotation mark. */
function quote(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
