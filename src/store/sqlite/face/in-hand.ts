import { bundled } from '../../changes/bundles.ts';
import type { Changes } from '../../changes.ts';
import type { MadeDueFeed } from '../../made-due.ts';
import type { SignalStore } from '../../signal-store.ts';
import type { Signs } from './keyed-requests.ts';
import type { Promised } from './promised.ts';

/** Signals whose deliveries are taken as they are stored: what crosses to the writer names each delivery once. */
export function inHandFace(
  { commitSignalsHeld }: Pick<Promised<Changes>, 'commitSignalsHeld'>,
  signs: () => Signs,
  publish: MadeDueFeed['publish'],
): Pick<SignalStore, 'commitSignalsInHand'> {
  return {
    async commitSignalsInHand(signals, taking) {
      const { lanes, ...terms } = taking;
      const wanted = new Set(lanes.flatMap(({ deliveryIds }) => deliveryIds));
      const stored = signals.map((signal) => ({
        ...signal,
        events: signal.events.map((routed) => bundled(routed, wanted)),
      }));
      const known = lanes.map(({ endpointId, knownVersion }) => `"${endpointId}":${knownVersion}`);
      const { committed, refused } = await commitSignalsHeld(stored, {
        ...terms,
        lanes: `{${known.join(',')}}`,
        process: signs().name,
      });
      const created = signals.filter((_, i) => committed[i]?.status === 'created');
      const taken = created
        .flatMap(({ events }) => events.flatMap(({ deliveries }) => deliveries))
        .filter(({ id, endpointId }) => wanted.has(id) && !refused.includes(endpointId));
      const result = { committed, taken: taken.map(({ id }) => id) };
      publish([['commitSignalsInHand', [signals, taking]]], [result]);
      return result;
    },
  };
}
