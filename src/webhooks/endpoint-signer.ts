import type { SecretBox } from '../lib/secret-box.ts';
import type { Endpoint } from '../model/webhook.ts';
import { createSigner, createStandardSigner, type Signer } from './signature.ts';

/** What signs an endpoint's deliveries: with its secret, and while a grace lasts with the one before. @throws where a box cannot be opened */
export function signerOf(secretBox: SecretBox, endpoint: Endpoint): Signer {
  const { id, previousSecretBox: box, previousSecretUntil: untilMs } = endpoint;
  const previous = box === null || untilMs === null ? null : { secret: secretBox.open(box, id), untilMs };
  const create = endpoint.mode === 'mcp' ? createStandardSigner : createSigner;
  return create(secretBox.open(endpoint.secretBox, id), previous);
}
