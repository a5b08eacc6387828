// Package scrub removes what looks like a secret from the text of a host, where nobody
// has said which texts are secret: private keys, tokens, passwords in options and
// configuration, credentials of kubeconfigs, Secret objects. It is the second net below
// engine/redact, which removes the secrets that the inventory names.
//
// The rules prefer to remove too much: a text that was cut inside of a key has neither a
// begin nor an end. Certificates, hexadecimal digests and paths stay.
package scrub

import "deployer/engine"

// Mark replaces a secret.
const Mark = engine.SecretMark
