#!/usr/bin/env bash
# Prints tls-fixture.ts: a root, an authority below it, and certificates of receivers, all made anew with openssl 3.
# The dates lie far around today, so that the tests hold whatever a machine's clock says.
set -euo pipefail
dir="$(mktemp -d)"
trap 'rm -rf "$dir"' EXIT
cd "$dir"
touch index.txt
cat > ca.cnf <<'CNF'
[ca]
default_ca = here
[here]
database = index.txt
new_certs_dir = .
rand_serial = yes
default_md = sha256
policy = any
unique_subject = no
[any]
commonName = supplied
[authority]
basicConstraints = critical,CA:true
keyUsage = critical,keyCertSign
[receiver]
subjectAltName = DNS:receiver.example.com,IP:127.0.0.1
[other]
subjectAltName = DNS:other.example.com,IP:127.0.0.99
CNF
for name in root middle receiver; do openssl genpkey -quiet -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -out "$name.key"; done

# sign NAME KEY EXTENSIONS FROM TO ISSUER...
sign() {
  openssl req -new -key "$2.key" -subj "/CN=Signalpost test $1" -out "$1.csr"
  openssl ca -batch -notext -config ca.cnf -in "$1.csr" -out "$1.pem" -extensions "$3" -startdate "$4" -enddate "$5" "${@:6}" 2> log ||
    { cat log >&2; exit 1; }
}
long=(20200101000000Z 21200101000000Z)
sign root root authority "${long[@]}" -selfsign -keyfile root.key
sign middle middle authority "${long[@]}" -cert root.pem -keyfile root.key
by_middle=(-cert middle.pem -keyfile middle.key)
sign valid receiver receiver "${long[@]}" "${by_middle[@]}"
sign wrong-name receiver other "${long[@]}" "${by_middle[@]}"
sign expired receiver receiver 20200101000000Z 20210101000000Z "${by_middle[@]}"
sign not-yet-valid receiver receiver 21190101000000Z 21200101000000Z "${by_middle[@]}"
sign self-signed receiver receiver "${long[@]}" -selfsign -keyfile receiver.key

cat <<TS
// Made by make-tls-fixture.sh; secret to nobody, and trusted by nothing but the tests.

const KEY = \`$(cat receiver.key)\`;

const MIDDLE = \`$(cat middle.pem)\`;

/** The root that the tests trust; the authority below it signs receivers and is sent along by them. */
export const TEST_CA = \`$(cat root.pem)\`;

const signed = (...certificates: string[]) => ({ key: KEY, cert: certificates.join('\n') });

const VALID = \`$(cat valid.pem)\`;

/** Receivers of \`receiver.example.com\` and 127.0.0.1, by what is right or wrong with their certificate. */
export const RECEIVERS = {
  valid: signed(VALID, MIDDLE),
  withoutChain: signed(VALID),
  wrongName: signed(\`$(cat wrong-name.pem)\`, MIDDLE),
  expired: signed(\`$(cat expired.pem)\`, MIDDLE),
  notYetValid: signed(\`$(cat not-yet-valid.pem)\`, MIDDLE),
  selfSigned: signed(\`$(cat self-signed.pem)\`),
};
TS
