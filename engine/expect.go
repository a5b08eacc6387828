package engine

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
)

// Expect is what a plan showed of a step; a step that has it does nothing else.
type Expect struct {
	// Effects are the fingerprints of what it may do.
	Effects []string `json:"effects,omitempty"`
	// Targets are "KIND TARGET" of what it may do in whatever way: earlier steps
	// of the same run change what it looks at, or the plan holds no secrets. In the
	// place of SecretMark there may be anything.
	Targets []string `json:"targets,omitempty"`
}

// Fingerprint tells effects apart by all that they say: 32 hex digits of a
// SHA-256.
func (e Effect) Fingerprint() string {
	h := sha256.New()
	diff := e.Diff
	if e.Kind == EffectDrain {
		diff = "" // pods come and go; that the node is drained is what counts
	}
	for _, part := range []string{string(e.Kind), e.Target, e.Action, diff, fmt.Sprint(e.Secret)} {
		fmt.Fprintf(h, "%d:%s", len(part), part)
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}

// Pending are the effects that would be applied: none when nothing is needed or
// all that is needed is to wait. A needed change that names no effect has an
// empty one.
func (c Change) Pending() []Effect {
	switch {
	case !c.Needed || c.Wait:
		return nil
	case len(c.Effects) == 0:
		return []Effect{{}}
	}
	return c.Effects
}

// KindAndTarget is the effect without how it is done. A restart is something that
// is done to a unit.
func (e Effect) KindAndTarget() string {
	kind := e.Kind
	if kind == EffectRestart {
		kind = EffectUnit
	}
	return string(kind) + " " + e.Target
}

// Allows tells whether a change stays within the plan. Doing less than the plan
// is allowed: a part may have been done before the connection was lost.
func (x *Expect) Allows(c Change) error {
	for _, e := range c.Pending() {
		if x == nil || slices.Contains(x.Effects, e.Fingerprint()) || slices.ContainsFunc(x.Targets, func(t string) bool { return fitsMarked(t, e.KindAndTarget()) }) {
			continue
		}
		what := fmt.Sprintf("%s %s: %s", e.Kind, e.Target, e.Action)
		if e.Kind == "" {
			what = "a change"
		}
		return &Failure{Message: "differs from the plan: " + what + " is not in it; nothing was done here. Somebody else may be changing this host: make a new plan"}
	}
	return nil
}

// fitsMarked is true when a text is what the marked one was before secrets were
// taken out of it.
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
