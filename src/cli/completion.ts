import { Argument, type Command } from 'commander';
import { type CompletionPlace, SHELLS, type Shell } from './completion-scripts.ts';
import type { Ports } from './ports.ts';

/** `completion`: a script that makes a shell complete commands, options and values; made from the commands themselves. */
export function addCompletion(parent: Command, ports: Ports): void {
  parent
    .command('completion')
    .description('print a script that lets your shell complete this command line')
    .addArgument(new Argument('<shell>', 'shell').choices(Object.keys(SHELLS)))
    .addHelpText('after', '\nFor bash, in ~/.bashrc:\n  source <(signalpost completion bash)')
    .action((shell: Shell) => ports.out(SHELLS[shell](placesOf(parent, ''))));
}

/** The command itself and all below it, each with what may follow. */
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
