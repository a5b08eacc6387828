// Package redact takes known secrets out of texts, in whatever encoding they stand
// there.
//
// A [Set] holds secrets in all the forms that tools write them in (see forms.go).
// It is filled before a run with what the inventory and the playbook mark, and
// during the run with the outputs of secret steps. Text replaces each form by
// [Mark].
//
// Hosts are not told what is secret, so they quote and cut texts before anybody
// takes secrets out. Quoting is one of the forms. At a cut, which the text marks
// with dots, a part of a form is replaced as well.
package redact

import "deployer/engine"

// Mark stands where a secret was.
const Mark = engine.SecretMark

// shortest is the length in bytes below which a text is not looked for: taking
// every "on" or "1" out of messages would hide more than it protects.
const shortest = 4

// shortestLine is the same for one line of a longer secret.
const shortestLine = 8
