// Package redact removes known secrets from texts, in all usual encodings.
//
// A [Set] holds secrets in all the forms that tools write them in (see forms.go).
// The Set is filled before a run with what the inventory and the playbook mark, and
// during the run with the outputs of secret steps. Text replaces each form by
// [Mark].
//
// Hosts do not know which texts are secret, so they quote and cut texts before secrets are
// removed. Quoting is one of the forms. At a cut, which the text marks
// with dots, a part of a form is replaced as well.
package redact

import "deployer/engine"

// Mark replaces a secret.
const Mark = engine.SecretMark

// shortest is the length in bytes below which a secret is not redacted: replacing every
// "on" or "1" in messages would hide more than it protects.
const shortest = 4

// shortestLine is the same for one line of a longer secret.
const shortestLine = 8
