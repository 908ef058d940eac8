import { isIP } from 'node:net';
import { resolve } from 'node:path';
import { type AddressSet, type Cidr, parseCidr } from './lib/network.ts';
import { inPackage } from './lib/package.ts';
import { SOURCE_KINDS } from './model/source.ts';
import { formatKeys, type KeyRing, parseKeys } from './secrets-key.ts';

/** The settings from the environment, validated and frozen. Paths are absolute. */
export interface Config {
  host: string;
  port: number;
  /** Without a trailing slash. */
  baseUrl: string;
  dataDir: string;
  /** `postgres://…`, which contains a password; null: the store is a file in `dataDir`. */
  databaseUrl: string | null;
  /** The master key and its predecessors (32 bytes each); null: they are read from `DATA_DIR/secrets.key`. */
  secretsKey: KeyRing | null;
  contentDir: string;
  trustProxy: Cidr[];
  publicRateLimit: number;
  /** Requests per 60 s for one browser session in the dashboard; a client address has twice as many. */
  dashboardRateLimit: number;
  /** How long a dashboard session lasts without use, and at most, in days. */
  sessionLife: { idleDays: number; longestDays: number };
  logLevel: LogLevel;
  smtpUrl: string | null;
  mailFrom: string | null;
  webhookAllowTargets: Cidr[];
  webhookSourceIps: Cidr[];
  webhookLocalAddress: string | null;
  enrichmentUrl: string | null;
  /** Maximum number of requests to the enrichment provider per day. */
  enrichmentDailyLimit: number;
  /** Alternative addresses by kind of source, without a trailing slash. */
  sourceSites: Readonly<Partial<Record<string, string>>>;
  /** Included in the User-Agent that sources are read with. */
  sourceContact: string | null;
  adminMetricsToken: string | null;
  signalEncoder: EncoderMode;
  /** The set of error codes of MCP Events. */
  mcpEventErrors: (typeof EVENT_ERRORS)[number];
  /** Issuers whose access tokens MCP accepts, exactly as in their `iss` claim. */
  mcpAuthorizationServers: string[];
  /** Null: no tracing. */
  tracing: TracingConfig | null;
}

const ENCODER_MODES = ['auto', 'off'] as const;
/** Whether the sentence encoder is used for scoring: `auto`, if it is installed. */
export type EncoderMode = (typeof ENCODER_MODES)[number];

/** The codes of the draft, which ChatGPT uses, and those of the final SEP-3415. */
const EVENT_ERRORS = ['draft', 'sep-3415'] as const;

const LOG_LEVELS = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

/** All faults of the environment, each with its variable and a solution. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';
  readonly faults: readonly string[];
  constructor(faults: readonly string[]) {
    super(
      `The configuration has ${faults.length === 1 ? 'an error' : `${faults.length} errors`}:\n  ${faults.join('\n  ')}`,
    );
    this.faults = faults;
  }
}

/**
 * Reads the environment (docs/configuration.md). `own` are this machine's addresses; null if they do not matter: a
 * command may run elsewhere with the server's environment.
 * @throws ConfigError
 */
export function loadConfig(env: NodeJS.ProcessEnv, own: AddressSet | null = null): Config {
  const faults: string[] = [];
  const read = createReader(env, faults);
  const port = read.integer('PORT', 3000, 0, 65_535);

  const config: Config = {
    host: read.host('HOST') ?? '127.0.0.1',
    port,
    baseUrl: read.base('BASE_URL')?.replace(/\/+$/, '') ?? `http://localhost:${port}`,
    dataDir: resolve(read.text('DATA_DIR') ?? './data'),
    databaseUrl: read.database('DATABASE_URL'),
    secretsKey: read.keys('SECRETS_KEY'),
    contentDir: resolve(read.text('CONTENT_DIR') ?? inPackage('content')),
    trustProxy: read.cidrs('TRUST_PROXY'),
    publicRateLimit: read.integer('PUBLIC_RATE_LIMIT', 60, 1, 1_000_000),
    dashboardRateLimit: read.integer('DASHBOARD_RATE_LIMIT', 300, 1, 1_000_000),
    sessionLife: {
      idleDays: read.integer('SESSION_IDLE_DAYS', 14, 1, 365),
      longestDays: read.integer('SESSION_MAX_DAYS', 60, 1, 365),
    },
    logLevel: read.oneOf('LOG_LEVEL', LOG_LEVELS, 'info'),
    smtpUrl: read.url('SMTP_URL', ['smtp:', 'smtps:']),
    mailFrom: read.sender('MAIL_FROM'),
    webhookAllowTargets: read.cidrs('WEBHOOK_ALLOW_TARGETS'),
    webhookSourceIps: read.cidrs('WEBHOOK_SOURCE_IPS'),
    webhookLocalAddress: read.address('WEBHOOK_LOCAL_ADDRESS', own),
    enrichmentUrl: read.url('ENRICHMENT_URL', ['http:', 'https:']),
    enrichmentDailyLimit: read.integer('ENRICHMENT_DAILY_LIMIT', 1_000, 1, 10_000_000),
    sourceSites: read.sites('SOURCE_SITES'),
    sourceContact: read.contact('SOURCE_CONTACT'),
    adminMetricsToken: read.text('ADMIN_METRICS_TOKEN'),
    signalEncoder: read.oneOf('SIGNAL_ENCODER', ENCODER_MODES, 'auto'),
    mcpEventErrors: read.oneOf('MCP_EVENT_ERRORS', EVENT_ERRORS, 'draft'),
    mcpAuthorizationServers: read.issuers('MCP_AUTHORIZATION_SERVERS'),
    tracing: readTracing(read, faults),
  };
  if (config.smtpUrl !== null && config.mailFrom === null) {
    faults.push('MAIL_FROM: must be set together with SMTP_URL, e.g. MAIL_FROM=signalpost@example.com.');
  }
  if (faults.length > 0) throw new ConfigError(faults);
  return Object.freeze(config);
}

const NO_KEYS: KeyRing = { newest: Buffer.alloc(0), older: [] };
const bare = (base64: string) => base64.replace(/=+$/, '');

/** Labels separated by dots; a last label of digits only would be an invalid IPv4 address. */
const HOST_NAME =
  /^(?!.*(?:^|\.)\d+$)[a-z0-9](?:[a-z0-9-]*[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]*[a-z0-9])?)*$/i;
/** `post@example.com`, optionally with a name: `Volt & Sons <post@example.com>`. */
const SENDER = /^(?:[^\s<>@]+@[^\s<>@]+|[^<>\r\n]*<[^\s<>@]+@[^\s<>@]+>)$/;

/** RFC 8414, section 2; plain HTTP for addresses in WEBHOOK_ALLOW_TARGETS, which are checked on connecting. */
function isIssuer(text: string): boolean {
  const url = URL.parse(text);
  if (url === null || /[?#]/.test(text) || url.username + url.password !== '') return false;
  return (
    url.protocol === 'https:' ||
    (url.protocol === 'http:' && isIP(url.hostname.replace(/^\[|\]$/g, '')) !== 0)
  );
}

/** Values that may be secret (URLs with passwords, keys, tokens) never appear in a fault. */
function createReader(env: NodeJS.ProcessEnv, faults: string[]) {
  const text = (name: string): string | null => env[name]?.trim() || null;

  return {
    text,
    database(name: string): string | null {
      const value = text(name);
      const url = value === null ? null : URL.parse(value);
      if (
        value === null ||
        (url !== null && /^postgres(ql)?:$/.test(url.protocol) && url.pathname.length > 1)
      )
        return value;
      faults.push(`${name}: must be an address such as postgres://user:password@host/database.`);
      return null;
    },
    integer(name: string, fallback: number, min: number, max: number): number {
      const value = text(name);
      if (value === null) return fallback;
      const number = /^\d{1,10}$/.test(value) ? Number(value) : Number.NaN;
      if (number >= min && number <= max) return number;
      faults.push(`${name}: must be a whole number from ${min} to ${max}, not "${value}".`);
      return fallback;
    },
    oneOf<T extends string>(name: string, allowed: readonly T[], fallback: T): T {
      const value = text(name);
      if (value === null) return fallback;
      const found = allowed.find((item) => item === value);
      if (found === undefined) faults.push(`${name}: must be one of ${allowed.join(', ')}, not "${value}".`);
      return found ?? fallback;
    },
    url(name: string, protocols: string[]): string | null {
      const value = text(name);
      if (value === null) return null;
      if (URL.canParse(value) && protocols.includes(new URL(value).protocol)) return value;
      faults.push(
        `${name}: must be an absolute URL starting with ${protocols.map((p) => `${p}//`).join(' or ')}.`,
      );
      return null;
    },
    /** The base URL of links: anything after its path or before its host would break all of them. */
    base(name: string): string | null {
      const value = this.url(name, ['http:', 'https:']);
      const { search, hash, username, password } = new URL(value ?? 'http://localhost');
      if (search + hash + username + password !== '' || value?.match(/[?#]/))
        faults.push(`${name}: must not contain a user, password, query or fragment: links start with it.`);
      return value;
    },
    host(name: string): string | null {
      const value = text(name);
      if (value !== null && isIP(value) === 0 && !HOST_NAME.test(value))
        faults.push(`${name}: must be an IP address or a host name, not "${value}".`);
      return value;
    },
    sender(name: string): string | null {
      const value = text(name);
      if (value !== null && !SENDER.test(value))
        faults.push(`${name}: must be an email address such as signalpost@example.com.`);
      return value;
    },
    list(name: string): string[] {
      return (text(name) ?? '')
        .split(',')
        .map((item) => item.trim())
        .filter((item) => item !== '');
    },
    cidrs(name: string): Cidr[] {
      return this.list(name).flatMap((item) => {
        const cidr = parseCidr(item);
        if (cidr === null)
          faults.push(`${name}: "${item}" is not an address range such as 10.0.0.0/8 or ::1/128.`);
        return cidr ?? [];
      });
    },
    /** Kept exactly as written: the trailing slash of some issuers matters. */
    issuers(name: string): string[] {
      const issuers = this.list(name);
      if (!issuers.every(isIssuer))
        faults.push(
          `${name}: must be https:// URLs without user, query or fragment, separated by commas (http:// for an IP address).`,
        );
      return issuers;
    },
    address(name: string, own: AddressSet | null): string | null {
      const value = text(name);
      const [address = ''] = (value ?? '').split('%'); // the zone index
      if (value !== null && (isIP(value) === 0 || own?.has(address) === false))
        faults.push(
          `${name}: must be an IP address of this machine, not "${value}"; \`ip addr\` lists them.`,
        );
      return value;
    },
    sites: (name: string) => readSites(name, text(name), faults),
    contact(name: string): string | null {
      const value = text(name);
      if (value === null || /^[\x21-\x27\x2a-\x3a\x3c-\x7e]{3,200}$/.test(value)) return value;
      faults.push(`${name}: must be an address such as sources@example.com or https://example.com/bot.`);
      return null;
    },
    keys(name: string): KeyRing | null {
      const value = text(name);
      if (value === null) return null;
      const keys = parseKeys(value);
      const given = value.split(/[\s,]+/).filter((item) => item !== '');
      const same = formatKeys(keys ?? NO_KEYS)
        .trimEnd()
        .split('\n');
      if (keys !== null && same.every((key, i) => bare(key) === bare(given[i] ?? ''))) return keys;
      faults.push(
        `${name}: must be 32 bytes in base64 (older keys after it, separated by commas); create one with: openssl rand -base64 32`,
      );
      return null;
    },
  };
}

/** Kinds that are read at the configured address itself; they have no other site. */
const OWN_ADDRESS = ['rss', 'discourse', 'lemmy', 'mastodon'];
const KINDS = SOURCE_KINDS.filter((kind) => !OWN_ADDRESS.includes(kind));

/** Parses `SOURCE_SITES` into kinds and their base addresses; errors are added to `faults`. */
function readSites(name: string, value: string | null, faults: string[]): Partial<Record<string, string>> {
  if (value === null) return {};
  const given = parsed(value);
  if (given === null) {
    faults.push(`${name}: must be a JSON object, e.g. {"github":"https://github-mirror.example.com"}.`);
    return {};
  }
  const sites: Partial<Record<string, string>> = {};
  for (const [kind, base] of Object.entries(given)) {
    if (!KINDS.some((known) => known === kind)) {
      faults.push(`${name}: "${kind}" is not a kind whose site can be set; use one of ${KINDS.join(', ')}.`);
    } else if (typeof base !== 'string' || !/^https?:$/.test(URL.parse(base)?.protocol ?? '')) {
      faults.push(`${name}: the address of "${kind}" must start with http:// or https://.`);
    } else sites[kind] = base.replace(/\/+$/, '');
  }
  return sites;
}

function parsed(text: string): Record<string, unknown> | null {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : null;
  } catch {
    return null;
  }
}

/** How requests and deliveries are traced. */
export interface TracingConfig {
  sampler: SamplerName;
  /** The share of new traces that is sampled, in [0, 1]; for the `traceidratio` samplers. */
  ratio: number;
}

const SAMPLERS = [
  'always_on',
  'always_off',
  'traceidratio',
  'parentbased_always_on',
  'parentbased_always_off',
  'parentbased_traceidratio',
] as const;
type SamplerName = (typeof SAMPLERS)[number];

const ENDPOINTS = ['OTEL_EXPORTER_OTLP_TRACES_ENDPOINT', 'OTEL_EXPORTER_OTLP_ENDPOINT'];
const PROTOCOLS = ['OTEL_EXPORTER_OTLP_TRACES_PROTOCOL', 'OTEL_EXPORTER_OTLP_PROTOCOL'];

/** Reads settings, and collects their faults. */
interface SettingsReader {
  text(name: string): string | null;
  url(name: string, protocols: string[]): string | null;
  oneOf<T extends string>(name: string, allowed: readonly T[], fallback: T): T;
}

/**
 * The OpenTelemetry variables that this program reads itself; null if nothing is traced. Without an endpoint, nothing
 * is, unlike the specification's default of localhost:4318.
 */
function readTracing(read: SettingsReader, faults: string[]): TracingConfig | null {
  const endpoints = ENDPOINTS.map((name) => read.url(name, ['http:', 'https:']));
  const off = read.text('OTEL_SDK_DISABLED')?.toLowerCase() === 'true';
  if (off || endpoints.every((endpoint) => endpoint === null)) return null;
  if (read.oneOf('OTEL_TRACES_EXPORTER', ['otlp', 'none'], 'otlp') === 'none') return null;
  for (const name of PROTOCOLS) read.oneOf(name, ['http/protobuf'], 'http/protobuf');
  const sampler = read.oneOf('OTEL_TRACES_SAMPLER', SAMPLERS, 'parentbased_always_on');
  const ratio = Number(read.text('OTEL_TRACES_SAMPLER_ARG') ?? 1);
  if (!(ratio >= 0 && ratio <= 1)) faults.push('OTEL_TRACES_SAMPLER_ARG: must be a number from 0 to 1.');
  return { sampler, ratio };
}
