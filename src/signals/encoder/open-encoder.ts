import { createEncoder, type Encoder, whyNoEncoder } from './encoder.ts';

/**
 * The encoder where it is wanted and can be used, else null, and the log says which. A package that is there without its
 * native part shows only when it is loaded, so one text is tried.
 */
export async function openEncoder(
  mode: 'auto' | 'off',
  log: { info(text: string): void; warn(text: string): void },
): Promise<Encoder | null> {
  if (mode === 'off') {
    log.info('SIGNAL_ENCODER=off: words alone decide on signals');
    return null;
  }
  const missing = whyNoEncoder();
  const encoder = createEncoder();
  try {
    if (missing !== null) throw new Error(missing);
    await encoder.encode(['ready']);
    return encoder;
  } catch (error) {
    await encoder.close();
    const reason = error instanceof Error ? error.message : String(error);
    log.warn(`no sentence encoder, words alone decide on signals: ${reason}`);
    return null;
  }
}
