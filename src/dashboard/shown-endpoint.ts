import type { Endpoint } from '../model/webhook.ts';
import { endpointResource } from '../webhooks/endpoints.ts';

/** What stands for the address of an endpoint that has none. */
const FEED = 'Read at its feed';

/** An endpoint as screens show it: always with something to call it by. */
export function shownEndpoint(endpoint: Endpoint) {
  const { url, ...resource } = endpointResource(endpoint);
  return { ...resource, url: url ?? FEED };
}

/** The host of an endpoint's address. */
export function hostOf(url: string): string {
  return URL.canParse(url) ? new URL(url).host : url;
}
