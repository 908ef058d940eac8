import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { systemRandom } from '../../src/lib/random.ts';
import { deliveryHeaders, toBodyBytes } from '../../src/model/delivery.ts';
import { createSigner, generateSecret } from '../../src/webhooks/signature.ts';
import { codeBlocks } from '../support/code-blocks.ts';

/*
 * The guide's receivers for frameworks that are not installed: their unmodified code runs on the parts of the
 * framework that it calls.
 */
interface Framework {
  name: string;
  file: string;
  verify: string;
  command: [string, ...string[]];
  /** The code before the sample in its file. */
  opening: string;
  main: string;
}

const RAILS = `require "json"
require_relative "verify"
class Integer
  def days = self * 86_400
end
class Store
  def initialize = @kept = {}
  def write(key, value, unless_exist:, expires_in:)
    raise "kept for too short a time" if expires_in < 86_400
    return false if unless_exist && @kept.key?(key)
    @kept[key] = value
  end
end
module Rails
  STORE = Store.new
  def self.cache = STORE
end
HANDLED = []
class HookJob
  def self.perform_later(type, body) = HANDLED << [type, JSON.parse(body)["signal_id"]]
end
module ActionController
  class API
    Headers = Struct.new(:env)
    Request = Struct.new(:headers, :raw_post)
    attr_reader :request, :answer
    def initialize(request) = @request = request
    def head(status) = @answer = status
  end
end
require_relative "hooks_controller"
statuses = JSON.parse($stdin.read).map do |given|
  env = given["headers"].to_h { |name, value| ["HTTP_#{name.upcase.tr("-", "_")}", value] }
  env["rack.input"] = $stdin
  headers = ActionController::API::Headers.new(env)
  controller = HooksController.new(ActionController::API::Request.new(headers, given["body"]))
  controller.create
  { no_content: 204, unauthorized: 401 }.fetch(controller.answer)
end
puts JSON.generate({ statuses: statuses, handled: HANDLED })
`;

const LARAVEL = `<?php
require 'verify.php';
class Refused extends Exception {}
class Headers {
    public function __construct(private array $values) {}
    public function all() { return array_map(fn ($value) => [$value], $this->values); }
}
class Request {
    public $headers;
    public function __construct(array $headers, private string $content) { $this->headers = new Headers($headers); }
    public function getContent() { return $this->content; }
}
class Route {
    public static $handler;
    public static function post($path, $handler) { self::$handler = $handler; }
}
class Cache {
    private static $kept = [];
    public static function add($key, $value, $until) {
        if (isset(self::$kept[$key])) return false;
        return self::$kept[$key] = $value;
    }
}
class HandleHook {
    public static $handled = [];
    public static function dispatch($type, $body) { self::$handled[] = [$type, json_decode($body, true)['signal_id']]; }
}
class Now { public function addDays($days) { return $days * 86400; } }
class Response { public function noContent() { return 204; } }
function now() { return new Now; }
function response() { return new Response; }
function config($name) { return getenv('WEBHOOK_SECRET'); }
function abort($status) { throw new Refused('', $status); }
require 'hook.php';
$statuses = [];
foreach (json_decode(stream_get_contents(STDIN), true) as $given) {
    try {
        $statuses[] = (Route::$handler)(new Request(array_change_key_case($given['headers']), $given['body']));
    } catch (Refused $refused) {
        $statuses[] = $refused->getCode();
    }
}
echo json_encode(['statuses' => $statuses, 'handled' => HandleHook::$handled]);
`;

const FRAMEWORKS: Framework[] = [
  {
    ...{ name: 'Rails', file: 'hooks_controller.rb', verify: 'verify.rb', opening: '' },
    ...{ command: ['ruby', 'main.rb'], main: RAILS },
  },
  {
    ...{ name: 'Laravel', file: 'hook.php', verify: 'verify.php', opening: '<?php\n' },
    ...{ command: ['php', 'main.php'], main: LARAVEL },
  },
];

const secret = generateSecret(systemRandom);

/** A delivery signed for `signed`, but sent with the body `sent`. */
function aDelivery(id: string, signed: string, sent = signed) {
  const startedAt = Date.now();
  const sealed = createSigner(secret).seal({ id, ...toBodyBytes(signed) }, Math.floor(startedAt / 1_000));
  const headers = deliveryHeaders(
    { deliveryId: id, attempt: 1, startedAt },
    { ...sealed, eventType: 'signal.detected' },
  );
  return { headers, body: signed === sent ? sealed.body.toString() : sent };
}

const isInstalled = ([command]: [string, ...string[]]) =>
  spawnSync(command, ['--version'], { stdio: 'ignore' }).status === 0;

for (const { name, file, verify, command, opening, main } of FRAMEWORKS) {
  test.runIf(isInstalled(command))(
    `the receiver for ${name} accepts genuine deliveries, each once, and nothing else`,
    () => {
      const code = new Map(
        ['developers/client.md', 'developers/webhooks.md']
          .flatMap(codeBlocks)
          .map((block) => [block.name, block.code]),
      );
      const folder = mkdtempSync(join(tmpdir(), 'signalpost-receivers-'));
      try {
        writeFileSync(join(folder, file), opening + code.get(file));
        writeFileSync(join(folder, verify), code.get(verify) ?? '');
        writeFileSync(join(folder, command[1] ?? ''), main);
        const text = '{"signal_id":"sig_1","excerpt":"Grüße 😀"}';
        const cases = [
          aDelivery('dlv_1', text),
          aDelivery('dlv_1', text),
          aDelivery('dlv_2', '{"signal_id":"sig_2"}', '{"signal_id":"sig_forged"}'),
          aDelivery('dlv_3', '{"signal_id":"sig_3"}'),
        ];
        const [program, ...args] = command;
        const { stdout, stderr } = spawnSync(program, args, {
          cwd: folder,
          input: JSON.stringify(cases),
          encoding: 'utf8',
          env: { PATH: process.env.PATH, WEBHOOK_SECRET: secret, LANG: 'C.UTF-8' },
        });
        expect(stderr).toBe('');
        expect(JSON.parse(stdout)).toEqual({
          statuses: [204, 204, 401, 204],
          handled: [
            ['signal.detected', 'sig_1'],
            ['signal.detected', 'sig_3'],
          ],
        });
      } finally {
        rmSync(folder, { recursive: true, force: true });
      }
    },
  );
}
