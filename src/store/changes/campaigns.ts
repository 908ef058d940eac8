import { addAll } from '../../lib/lists.ts';
import type { Campaign } from '../../model/campaign.ts';
import type { CampaignEventResult, CampaignStore, NamedPerson, NewCampaignEvent } from '../campaign-store.ts';
import type { Asks, Script, Scripts } from '../script.ts';
import { createEventWriter } from './events.ts';
import type { LeadStatements } from './lead-rows.ts';

export interface CampaignStatements extends LeadStatements {
  campaigns: {
    update(campaign: Campaign, expectedVersion: number): boolean;
    selectEvent(campaignId: string, key: string): number | undefined;
    insertEvent(row: Record<string, unknown>): void;
    insert(campaign: Campaign): boolean;
    /**
     * The aliases of a recipient: the lead's id, the given address, and the lead's own address, in this order; null if the tenant
     * has no such lead.
     */
    aliasesOf(tenantId: string, person: NamedPerson): string[] | null;
    selectCount(id: string): number | undefined;
    updateCount(count: number, id: string): void;
    selectNumber(id: string, alias: string): number | undefined;
    insertAlias(id: string, alias: string, tenantId: string, number: number): void;
    deleteAliases(tenantId: string, alias: string): { campaign_id: string; recipient: number }[];
    deleteNumber(campaign_id: string, recipient: number): void;
    selectTold(campaign_id: string, recipient: number): string[];
    clearTold(campaign_id: string, recipient: number): void;
  };
}

export function campaignChanges(ask: Asks<CampaignStatements>) {
  const recipients = createRecipients(ask);
  const insertRouted = createEventWriter(ask);

  function* record(
    campaignId: string,
    tenantId: string,
    event: NewCampaignEvent,
    numbers: RecipientNumbers,
  ): Script<CampaignEventResult> {
    const { events: caused, leadId: _lead, email: _email, ...columns } = event;
    if ((yield* ask.campaigns.selectEvent(campaignId, event.key)) !== undefined) return 'duplicate';
    const aliases = yield* ask.campaigns.aliasesOf(tenantId, event);
    if (aliases === null) return 'unknown_lead';
    for (const each of caused) yield* insertRouted(each);
    const auto = event.auto ? 1 : 0;
    const toldId = caused[0]?.event.id ?? null;
    const recipient = yield* numbers.of(aliases);
    yield* ask.campaigns.insertEvent({ ...columns, campaignId, recipient, auto, toldId });
    return 'created';
  }

  return {
    *createCampaign(campaign, events) {
      yield* ask.campaigns.insert(campaign);
      for (const each of events) yield* insertRouted(each);
    },
    *updateCampaign(campaign, expectedVersion, events) {
      if (!(yield* ask.campaigns.update(campaign, expectedVersion))) return false;
      for (const each of events) yield* insertRouted(each);
      return true;
    },
    *recordCampaignEvents({ id: campaignId, tenantId }, events) {
      const numbers = yield* recipients.numbers({ campaignId, tenantId });
      const results: CampaignEventResult[] = [];
      for (const event of events) results.push(yield* record(campaignId, tenantId, event, numbers));
      yield* numbers.finish();
      return results;
    },
  } satisfies Scripts<CampaignStore>;
}

/** Assigns recipients their numbers within a campaign, for one batch of events at a time. */
export interface RecipientNumbers {
  /** The number of the recipient with any of `aliases`; new aliases are added to it. */
  of(aliases: string[]): Script<number>;
  /** Stores how many numbers are assigned. */
  finish(): Script<void>;
}

/** Who the recipient numbers of a campaign stand for. Nothing else in a campaign's events names a person. */
export function createRecipients(ask: Asks<CampaignStatements>) {
  function* numbers({
    campaignId: id,
    tenantId,
  }: {
    campaignId: string;
    tenantId: string;
  }): Script<RecipientNumbers> {
    const before = (yield* ask.campaigns.selectCount(id)) ?? 0;
    let count = before;
    return {
      *of(aliases) {
        const known: (number | undefined)[] = [];
        for (const alias of aliases) known.push(yield* ask.campaigns.selectNumber(id, alias));
        // If the aliases were two recipients so far, the first one is used: past counts do not change.
        const number = known.find((value) => value !== undefined) ?? count++;
        for (const [index, alias] of aliases.entries()) {
          if (known[index] === undefined) yield* ask.campaigns.insertAlias(id, alias, tenantId, number);
        }
        return number;
      },
      *finish() {
        if (count !== before) yield* ask.campaigns.updateCount(count, id);
      },
    };
  }

  return {
    numbers,
    /**
     * Removes a person's aliases from every campaign, by the lead's ID and identity keys. Returns the IDs of the
     * events about their replies, whose texts still name them; nothing refers to these events afterwards.
     */
    *forget(tenantId: string, aliases: readonly string[]): Script<string[]> {
      const announced: string[] = [];
      for (const alias of aliases) {
        for (const { campaign_id, recipient } of yield* ask.campaigns.deleteAliases(tenantId, alias)) {
          // Includes an address that only a campaign knew.
          yield* ask.campaigns.deleteNumber(campaign_id, recipient);
          const ids = yield* ask.campaigns.selectTold(campaign_id, recipient);
          if (ids.length > 0) yield* ask.campaigns.clearTold(campaign_id, recipient);
          addAll(announced, ids);
        }
      }
      return announced;
    },
  };
}
