// Package scrub removes texts that look like secrets from the output of a host, where
// the secrets are not known: private keys, tokens, passwords in options and
// configuration, credentials of kubeconfigs, Secret objects. Package engine/redact
// removes before it the secrets that the inventory names.
//
// The rules prefer to remove too much: a text that was cut inside of a key has neither a
// begin nor an end. Certificates, hexadecimal digests and paths stay.
package scrub

import "deployer/engine"

// Mark replaces a secret.
const Mark = engine.SecretMark
