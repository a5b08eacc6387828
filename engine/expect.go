package engine

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
)

// Expect is the part of a plan for one step: the step must do nothing else.
type Expect struct {
	// Effects holds the fingerprints of the permitted effects.
	Effects []string `json:"effects,omitempty"`
	// Targets holds "KIND TARGET" of effects that are permitted whatever they do in
	// detail, because earlier steps of the run change what the step reads, or because
	// the plan contains no secrets. SecretMark matches any text.
	Targets []string `json:"targets,omitempty"`
}

// Fingerprint returns 32 hex digits of a SHA-256 over the fields of the effect that say what
// it does. The reason is none of them.
func (e Effect) Fingerprint() string {
	h := sha256.New()
	diff := e.Diff
	if e.Kind == EffectDrain {
		diff = "" // the pods of the node change all the time
	}
	for _, part := range []string{string(e.Kind), e.Target, e.Action, diff, fmt.Sprint(e.Secret)} {
		fmt.Fprintf(h, "%d:%s", len(part), part)
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}

// Pending returns the effects that Apply would have: none for a change that is not
// needed or only waits, one empty effect for a needed change without effects.
func (c Change) Pending() []Effect {
	switch {
	case !c.Needed || c.Wait:
		return nil
	case len(c.Effects) == 0:
		return []Effect{{}}
	}
	return c.Effects
}

// KindAndTarget returns "KIND TARGET" of the effect. A restart counts as a unit's
// effect.
func (e Effect) KindAndTarget() string {
	kind := e.Kind
	if kind == EffectRestart {
		kind = EffectUnit
	}
	return string(kind) + " " + e.Target
}

// Allows returns a *Failure for a change that the plan does not contain. A change may be
// smaller than the plan: a part may have been done before the connection was lost.
func (x *Expect) Allows(c Change) error {
	for _, e := range c.Pending() {
		if x == nil || slices.Contains(x.Effects, e.Fingerprint()) || slices.ContainsFunc(x.Targets, func(t string) bool { return fitsMarked(t, e.KindAndTarget()) }) {
			continue
		}
		what := fmt.Sprintf("%s %s: %s", e.Kind, e.Target, e.Phrase())
		if e.Kind == "" {
			what = "a change"
		}
		return &Failure{Message: "differs from the plan: " + what + " is not in it; the step changed nothing. The host has changed since the plan was made, or an earlier step has changed what this one reads: make a new plan"}
	}
	return nil
}

// fitsMarked reports whether the marked text is the redacted form of text.
func fitsMarked(marked, text string) bool {
	first, rest, secret := strings.Cut(marked, SecretMark)
	if !secret {
		return marked == text
	}
	text, ok := strings.CutPrefix(text, first)
	for ok {
		part, more, another := strings.Cut(rest, SecretMark)
		if !another {
			return strings.HasSuffix(text, part)
		}
		_, text, ok = strings.Cut(text, part)
		rest = more
	}
	return false
}
