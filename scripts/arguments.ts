import { type ParseArgsConfig, parseArgs } from 'node:util';

const EXIT_USAGE = 64; // sysexits.h EX_USAGE

/** The arguments of a script. `--help` prints its usage; an unknown option does too, as a fault. */
export function readArguments<T extends ParseArgsConfig>(
  config: T,
  usage: string,
): ReturnType<typeof parseArgs<T>> {
  if (process.argv.slice(2).some((argument) => argument === '--help' || argument === '-h')) {
    console.log(usage);
    process.exit(0);
  }
  try {
    return parseArgs(config);
  } catch (error) {
    console.error(error instanceof Error ? error.message : error);
    return refuseUsage(usage);
  }
}

export function refuseUsage(usage: string): never {
  console.error(usage);
  process.exit(EXIT_USAGE);
}
