import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A language with verification code in the webhooks guide. */
export interface Language {
  name: string;
  /** The file of the guide's code block. */
  file: string;
  command: string[];
  version: string[];
  /** Files next to the block: they read cases from stdin, call both functions, and print the results. */
  around: Record<string, string>;
  /** Whether tests fail if it is missing; the others run only if they are installed. */
  required: boolean;
}

/** A delivery as a receiver might get it. */
export interface Case {
  headers: Record<string, string>;
  /** Base64. */
  body: string;
  secret: string;
}

/** The results of the two functions for a case. */
export interface Verdict {
  delivery: boolean;
  service: boolean;
}

const GO_MAIN = `package main

import (
	"encoding/json"
	"net/http"
	"os"
)

type given struct {
	Headers map[string]string
	Body    []byte
	Secret  string
}

func main() {
	var cases []given
	if err := json.NewDecoder(os.Stdin).Decode(&cases); err != nil {
		panic(err)
	}
	verdicts := []map[string]bool{}
	for _, c := range cases {
		header := http.Header{}
		for name, value := range c.Headers {
			header.Set(name, value)
		}
		verdicts = append(verdicts, map[string]bool{
			"delivery": VerifyDelivery(header, c.Body, c.Secret),
			"service":  VerifyServiceSignature(header, c.Body, c.Secret),
		})
	}
	json.NewEncoder(os.Stdout).Encode(verdicts)
}
`;

/** The languages in the guide. */
export const LANGUAGES: readonly Language[] = [
  {
    name: 'Node',
    file: 'verify.mjs',
    command: [process.execPath, 'main.mjs'],
    version: [process.execPath, '--version'],
    required: true,
    around: {
      'main.mjs': `import { readFileSync } from 'node:fs';
import { verifyDelivery, verifyServiceSignature } from './verify.mjs';
const cases = JSON.parse(readFileSync(0, 'utf8'));
console.log(JSON.stringify(cases.map(({ headers, body, secret }) => ({
  delivery: verifyDelivery(headers, Buffer.from(body, 'base64'), secret),
  service: verifyServiceSignature(headers, Buffer.from(body, 'base64'), secret),
}))));
`,
    },
  },
  {
    name: 'Python',
    file: 'verify.py',
    command: ['python3', 'main.py'],
    version: ['python3', '--version'],
    required: true,
    around: {
      'main.py': `import base64, json, sys
from verify import verify_delivery, verify_service_signature
verdicts = []
for case in json.load(sys.stdin):
    given = (case["headers"], base64.b64decode(case["body"]), case["secret"])
    verdicts.append({"delivery": verify_delivery(*given), "service": verify_service_signature(*given)})
print(json.dumps(verdicts))
`,
    },
  },
  {
    name: 'Go',
    file: 'verify.go',
    command: ['go', 'run', '.'],
    version: ['go', 'version'],
    required: false,
    around: { 'main.go': GO_MAIN, 'go.mod': 'module verify\n\ngo 1.19\n' },
  },
  {
    name: 'PHP',
    file: 'verify.php',
    command: ['php', 'main.php'],
    version: ['php', '--version'],
    required: false,
    around: {
      'main.php': `<?php
require 'verify.php';
$verdicts = [];
foreach (json_decode(stream_get_contents(STDIN), true) as $case) {
    $given = [$case['headers'], base64_decode($case['body']), $case['secret']];
    $verdicts[] = ['delivery' => verify_delivery(...$given), 'service' => verify_service_signature(...$given)];
}
echo json_encode($verdicts);
`,
    },
  },
  {
    name: 'Ruby',
    file: 'verify.rb',
    command: ['ruby', 'main.rb'],
    version: ['ruby', '--version'],
    required: false,
    around: {
      'main.rb': `require "json"
require_relative "verify"
verdicts = JSON.parse($stdin.read).map do |c|
  given = [c["headers"], c["body"].unpack1("m"), c["secret"]]
  { delivery: verify_delivery(*given), service: verify_service_signature(*given) }
end
puts JSON.generate(verdicts)
`,
    },
  },
];

/** Whether the language's command is installed. */
export function isInstalled({ version: [command = '', ...args] }: Language): boolean {
  return spawnSync(command, args, { stdio: 'ignore' }).status === 0;
}

/** Runs `code`, the guide's block, on the cases. @throws with the printed output if it fails */
export function runVerification(language: Language, code: string, cases: readonly Case[]): Verdict[] {
  const folder = mkdtempSync(join(tmpdir(), 'signalpost-verify-'));
  try {
    for (const [name, text] of Object.entries({ ...language.around, [language.file]: code })) {
      writeFileSync(join(folder, name), text);
    }
    const [command = '', ...args] = language.command;
    const options = { cwd: folder, input: JSON.stringify(cases), encoding: 'utf8' } as const;
    const { status, stdout, stderr } = spawnSync(command, args, options);
    if (status !== 0) throw new Error(`${language.name} failed:\n${stderr}`);
    return JSON.parse(stdout);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
