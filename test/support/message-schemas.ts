import type { Preset } from '../../src/model/payload-shape.ts';

const url = { type: 'string', pattern: '^https?://', maxLength: 2_048 };
const line = (maxLength: number) => ({ type: 'string', minLength: 1, maxLength });
const object = (required: string[], properties: object) => ({
  ...{ type: 'object', required, properties, additionalProperties: false },
});

const mrkdwn = (maxLength: number) =>
  object(['type', 'text'], { type: { const: 'mrkdwn' }, text: line(maxLength) });
const plainText = object(['type', 'text'], { type: { const: 'plain_text' }, text: line(150) });

/** https://docs.slack.dev/messaging/sending-messages-using-incoming-webhooks and /reference/block-kit/blocks */
const slack = object(['text', 'blocks'], {
  text: line(40_000),
  blocks: {
    type: 'array',
    minItems: 1,
    maxItems: 50,
    items: {
      oneOf: [
        object(['type', 'text'], { type: { const: 'header' }, text: plainText }),
        object(['type', 'text'], { type: { const: 'section' }, text: mrkdwn(3_000) }),
        object(['type', 'elements'], {
          type: { const: 'context' },
          elements: { type: 'array', minItems: 1, maxItems: 10, items: mrkdwn(3_000) },
        }),
      ],
    },
  },
  unfurl_links: { type: 'boolean' },
  unfurl_media: { type: 'boolean' },
});

/** https://docs.discord.com/developers/resources/webhook#execute-webhook and /resources/message#embed-object-embed-limits */
const discord = object(['embeds'], {
  embeds: {
    type: 'array',
    minItems: 1,
    maxItems: 10,
    items: object(['title'], {
      title: line(256),
      url,
      description: line(4_096),
      color: { type: 'integer', minimum: 0, maximum: 0xffffff },
      fields: {
        type: 'array',
        maxItems: 25,
        items: object(['name', 'value'], {
          ...{ name: line(256), value: line(1_024), inline: { type: 'boolean' } },
        }),
      },
    }),
  },
  allowed_mentions: object(['parse'], { parse: { type: 'array', maxItems: 0 } }),
});

/** https://adaptivecards.io/schemas/adaptive-card.json, version 1.4, the parts in use. */
const textBlock = object(['type', 'text'], {
  type: { const: 'TextBlock' },
  text: line(5_000),
  wrap: { type: 'boolean' },
  size: { enum: ['Default', 'Small', 'Medium', 'Large', 'ExtraLarge'] },
  weight: { enum: ['Default', 'Lighter', 'Bolder'] },
  color: { enum: ['Default', 'Dark', 'Light', 'Accent', 'Good', 'Warning', 'Attention'] },
  isSubtle: { type: 'boolean' },
  separator: { type: 'boolean' },
});
const factSet = object(['type', 'facts'], {
  type: { const: 'FactSet' },
  facts: {
    ...{ type: 'array', minItems: 1 },
    items: object(['title', 'value'], { title: line(100), value: line(1_000) }),
  },
});
const card = object(['$schema', 'type', 'version', 'body'], {
  $schema: { const: 'http://adaptivecards.io/schemas/adaptive-card.json' },
  type: { const: 'AdaptiveCard' },
  version: { enum: ['1.0', '1.1', '1.2', '1.3', '1.4'] },
  body: { type: 'array', minItems: 1, items: { oneOf: [textBlock, factSet] } },
  actions: {
    type: 'array',
    maxItems: 6,
    items: object(['type', 'title', 'url'], { type: { const: 'Action.OpenUrl' }, title: line(100), url }),
  },
  msteams: object(['width'], { width: { const: 'Full' } }),
});
const teams = object(['type', 'attachments'], {
  type: { const: 'message' },
  attachments: {
    ...{ type: 'array', minItems: 1, maxItems: 1 },
    items: object(['contentType', 'content'], {
      contentType: { const: 'application/vnd.microsoft.card.adaptive' },
      contentUrl: { type: 'null' },
      content: card,
    }),
  },
});

/** https://docs.ntfy.sh/publish/#publish-as-json */
const ntfy = object(['topic'], {
  topic: { type: 'string', pattern: '^[-_A-Za-z0-9]{1,64}$' },
  title: line(250),
  message: line(4_096),
  priority: { type: 'integer', minimum: 1, maximum: 5 },
  tags: { type: 'array', items: line(50) },
  click: url,
  actions: {
    ...{ type: 'array', maxItems: 3 },
    items: object(['action', 'label', 'url'], { action: { const: 'view' }, label: line(50), url }),
  },
});

/** The published schema of each service's bodies, without additional members. */
export const MESSAGE_SCHEMAS: Record<Preset, object> = { slack, discord, teams, ntfy };
